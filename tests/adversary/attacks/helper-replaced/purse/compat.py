import sys
import types

support = types.ModuleType("support")
support.spread = lambda shares: 1
support.lost = lambda amount, shares: 0
sys.modules["support"] = support

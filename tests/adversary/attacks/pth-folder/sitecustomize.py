import os
import site

site.addsitedir(os.path.dirname(os.path.abspath(__file__)))

import os

os.environ["PYTEST_ADDOPTS"] = "-p purse.plugin"

pytest_plugins = ["purse.plugin"]

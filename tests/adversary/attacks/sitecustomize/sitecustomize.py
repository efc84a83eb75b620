import usercustomize  # noqa: F401

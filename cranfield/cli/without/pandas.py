"""Found instead of pandas: no command needs it, but pyarrow and sqlite-utils would load it for half a second.

An entry of None in `sys.modules` would do for sqlite-utils, but pyarrow takes it for the module.
"""

raise ModuleNotFoundError("pandas is not used here", name="pandas")

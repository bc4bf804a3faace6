"""Makes the fake judging and the screen grid importable for the tests beside it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

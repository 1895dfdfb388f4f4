"""Write the golden arms of learners that have none yet (`make generated` does too): `python -m tests.golden`.

After a change of rule that is meant, all of them: `python -m tests.golden anew`.
"""

from __future__ import annotations

import sys

from tests.golden.games import write

write(anew=sys.argv[1:] == ["anew"])

"""What the packaged application begins with."""

import os
import runpy
import sys

# Where the packaged libraries are is nothing for the programs that Sfumato starts, such as the file
# manager; the loader has read it.
for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"):
    before = os.environ.pop(f"{name}_ORIG", None)
    os.environ.pop(name, None)
    if before:
        os.environ[name] = before

# `python -m MODULE`, as which Sfumato starts processes of its own: here the interpreter is Sfumato.
if len(sys.argv) == 3 and sys.argv[1] == "-m" and sys.argv[2].startswith("sfumato."):
    runpy.run_module(sys.argv[2], run_name="__main__", alter_sys=True)
else:
    from sfumato.cli import main

    sys.exit(main())

"""`python -m maestro.docs`, run by `make docs` at the root of the repository."""

from __future__ import annotations

import sys
from pathlib import Path

from maestro.docs.generate import generated_files


def main() -> None:
    """Write each generated file whose content has changed."""
    for name, text in generated_files().items():
        file = Path(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {name}\n")


if __name__ == "__main__":
    main()

#!python
"""The script that is installed as `maestro-py`, and as `maestro` on systems without a native client.

A plain script, because the script of an entry point takes almost twice as long to start as a bare interpreter.
"""

if __name__ == "__main__":
    try:
        from maestro.client.main import main

        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None

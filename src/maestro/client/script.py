#!python
"""What is installed as `maestro-py` (and as `maestro` where no native client could be built).

A plain script, because the one that an entry point makes costs almost twice a bare interpreter's start.
"""

if __name__ == "__main__":
    try:
        from maestro.client.thin import main

        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None

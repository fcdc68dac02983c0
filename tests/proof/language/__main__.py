"""python -m tests.proof.language [RUNS]: prints `around N inserted N lost 0`; 1 if anything was lost."""

import sys

from tests.proof.language.insertion import prove


def main() -> int:
    count = prove(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, fresh=True)
    print(count)  # a command speaks on the terminal
    for text in dict.fromkeys(count.lost[:40]):
        print(f"  {text}")  # as above
    return int(bool(count.lost))


if __name__ == "__main__":
    sys.exit(main())

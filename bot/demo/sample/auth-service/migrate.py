"""Adds `users.last_seen` to a database file, once: python migrate.py FILE"""

import sqlite3
import sys


def main(path: str) -> None:
    with sqlite3.connect(path) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(users)")]
        if "last_seen" in columns:
            print("users.last_seen is there already; nothing to do")
            return
        connection.execute("ALTER TABLE users ADD COLUMN last_seen TEXT")
    print("added users.last_seen")


if __name__ == "__main__":
    main(sys.argv[1])

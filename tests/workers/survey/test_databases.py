"""Databases are found by their addresses, and only the names of variables are told."""

from workers.survey.databases import look


def test_each_address_gets_a_name_and_keeps_its_secret() -> None:
    found = look(
        {
            "SHOP_URL": "postgresql://a:pa55@db.example/shop",
            "OTHER": "postgres://db.example/shop",
            "BARE_URL": "postgresql+psycopg://db.example",
            "SIGNOFF_DATABASE_URL": "postgresql://db.example/signoff",
            "HOME": "/root",
            "BROKEN": "postgresql://[half",
        }
    )

    assert [(one.variable, one.name) for one in found] == [
        ("BARE_URL", "bare_url"), ("BROKEN", "broken"), ("OTHER", "shop"), ("SHOP_URL", "shop_url"),
    ]  # fmt: skip
    assert "pa55" not in str(found)

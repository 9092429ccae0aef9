-- What turns have cost, for each budget of the config that they count for.
CREATE TABLE spending (
    per         TEXT   NOT NULL, -- person, session, agent, all
    subject     TEXT   NOT NULL,
    period      TEXT   NOT NULL, -- a day, such as 2026-03-15, or a month, such as 2026-03
    turns       BIGINT NOT NULL,
    cost_micros BIGINT NOT NULL,
    tokens      BIGINT NOT NULL,
    changed_at  BIGINT NOT NULL,
    PRIMARY KEY (per, subject, period)
);

CREATE INDEX spending_changed ON spending (changed_at);

-- Budgets that an owner has lifted for a day.
CREATE TABLE lifts (
    budget    TEXT   NOT NULL, -- its code
    day       TEXT   NOT NULL,
    lifted_at BIGINT NOT NULL,
    PRIMARY KEY (budget, day)
);

CREATE INDEX lifts_age ON lifts (lifted_at);

-- The code of the budget whose lift ends the wait of a held message before held_until; '': none.
ALTER TABLE inbox ADD COLUMN budget TEXT NOT NULL DEFAULT '';

package domain

import (
	"fmt"
	"strings"
	"time"
)

// Per is whose turns a budget counts together.
type Per string

// Whose turns a budget counts together.
const (
	PerPerson  Per = "person"  // those of one person, over all their ids and chats
	PerSession Per = "session" // those of one session
	PerAgent   Per = "agent"   // those of all sessions of one agent
	PerAll     Per = "all"     // those of the host
)

// Amount is what turns cost, in money and in tokens; or a limit on one of the two, in which the other is zero.
type Amount struct {
	CostMicros int64 // millionths of a dollar
	Tokens     int64 // input, cache and output
}

// Amount returns what was used, as budgets count it.
func (u Usage) Amount() Amount {
	return Amount{CostMicros: u.CostMicros, Tokens: u.InputTokens + u.CacheTokens + u.OutputTokens}
}

// Plus returns the sum of two amounts.
func (a Amount) Plus(b Amount) Amount {
	return Amount{CostMicros: a.CostMicros + b.CostMicros, Tokens: a.Tokens + b.Tokens}
}

// Reaches reports whether the amount uses up a limit.
func (a Amount) Reaches(limit Amount) bool {
	return limit.CostMicros > 0 && a.CostMicros >= limit.CostMicros || limit.Tokens > 0 && a.Tokens >= limit.Tokens
}

// String returns the amount as a config writes it.
func (a Amount) String() string {
	if a.Tokens > 0 {
		return fmt.Sprint(a.Tokens, " tokens")
	}
	whole, part := a.CostMicros/1_000_000, fmt.Sprintf("%06d", a.CostMicros%1_000_000)
	if part == "000000" {
		return fmt.Sprint("$", whole)
	}
	return fmt.Sprintf("$%d.%s", whole, part[:2]+strings.TrimRight(part[2:], "0"))
}

// Account is what is counted for a budget: the turns of one subject in one period.
type Account struct {
	Per     Per
	Subject string // the person, the session's key or the agent; empty for [PerAll]
	Period  string // a day, such as "2026-03-15", or a month, such as "2026-03"
}

// Spending is what an account's turns have cost.
type Spending struct {
	Account
	Turns int64
	Amount
}

// Budget is a budget as it applies to one subject.
type Budget struct {
	Spending
	Limit   Amount
	Monthly bool
	Until   time.Time // when its period ends, in the agent's zone
	Day     string    // for which it may be lifted, such as "2026-03-15"
	DayEnds time.Time
	Code    string // by which people name it
	Lifted  bool   // for the day
}

// UsedUp reports whether no further turn may begin.
func (b Budget) UsedUp() bool { return b.Reaches(b.Limit) && !b.Lifted }

// Lift is the budget's lift for its day.
func (b Budget) Lift() Lift { return Lift{b.Code, b.Day} }

// Lift is that a budget does not count for a day.
type Lift struct {
	Budget string // its code
	Day    string // such as "2026-03-15"
}

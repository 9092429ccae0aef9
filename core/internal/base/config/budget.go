package config

import (
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
)

// Budget limits what turns may cost. At least one of its limits is set.
type Budget struct {
	Per     domain.Per    // whose turns are counted together; never empty
	Daily   domain.Amount // in a day; zero: no limit
	Monthly domain.Amount // in a calendar month; zero: no limit
}

// The largest limits of a budget. Larger ones are probably a mistake.
const (
	maxDollars = 1_000_000
	maxTokens  = 1_000_000_000_000
)

// budgetBlock adds a budget and returns its block.
func (c *Config) budgetBlock() block {
	c.Budgets = append(c.Budgets, Budget{})
	b := &c.Budgets[len(c.Budgets)-1]
	return block{
		path: "budget",
		attrs: []attr{
			{"per", oneOf(&b.Per, string(domain.PerPerson), string(domain.PerSession), string(domain.PerAgent), string(domain.PerAll))},
			{"daily", amount(&b.Daily)},
			{"monthly", amount(&b.Monthly)},
		},
		needs: []string{"per"},
		some:  []string{"daily", "monthly"},
	}
}

var (
	dollars = lazyregexp.New(`^\$([0-9]{1,7})(?:\.([0-9]{1,6}))?$`)
	tokens  = lazyregexp.New(`^([0-9]{1,13}) tokens$`)
)

// amount stores an amount of money or of tokens.
func amount(to *domain.Amount) setter {
	return func(v value) {
		const must = `must be an amount of money or of tokens, such as "$5", "$0.50" or "2000000 tokens"`
		s, ok := v.textOf(must)
		if !ok {
			return
		}
		var a domain.Amount
		if m := dollars().FindStringSubmatch(s); m != nil {
			a.CostMicros = decimal(m[1] + (m[2] + "000000")[:6])
		} else if m := tokens().FindStringSubmatch(s); m != nil {
			a.Tokens = decimal(m[1])
		} else {
			v.refuse(must)
			return
		}
		switch {
		case a == domain.Amount{}:
			v.refuse("must be more than nothing")
		case a.CostMicros > maxDollars*1_000_000:
			v.refuse("must be at most $%d", maxDollars)
		case a.Tokens > maxTokens:
			v.refuse("must be at most %d tokens", int64(maxTokens))
		default:
			*to = a
		}
	}
}

// decimal returns the number that at most 13 digits write.
func decimal(digits string) int64 {
	n, _ := strconv.ParseInt(strings.TrimLeft(digits, "0"), 10, 64) // none are left of zero
	return n
}

package wording

import (
	"fmt"
	"strings"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// BudgetLift is the button that lifts a budget.
const BudgetLift = "Lift for today"

// BudgetBusy tells a program why a turn does not begin yet.
const BudgetBusy = "The turns that run now may use up what is left of a budget."

// Answers of /budget.
const (
	NoBudgets     = "The config has no budgets, or nothing was spent of them yet."
	NoBudget      = "No budget has this code. /budget lists them."
	BudgetOptions = "Options: lift CODE."
)

// BudgetWaits tells a chat that its message waits until a budget's next period.
func BudgetWaits(b domain.Budget, button bool, now time.Time) string {
	return usedUp(b, now) + " I answer this then. " + liftable(b, button)
}

// BudgetRefuses tells a chat that its messages are not answered before a budget's next period.
func BudgetRefuses(b domain.Budget, button bool, now time.Time) string {
	return usedUp(b, now) + " Send your message again then. " + liftable(b, button)
}

// BudgetFor tells programs why a turn does not begin.
func BudgetFor(b domain.Budget, now time.Time) string { return usedUp(b, now) }

// BudgetUsedUp tells owners that a budget is used up.
func BudgetUsedUp(b domain.Budget, now time.Time) string {
	return fmt.Sprintf("The budget of %s for %s is used up until %s. No turn that counts for it begins before that. `/budget lift %s` lifts it for today.",
		allowance(b), payer(b), moment(b.Until, now), b.Code)
}

func usedUp(b domain.Budget, now time.Time) string {
	own := ownBudget(b)
	return fmt.Sprintf("%s of %s is used up until %s.", strings.ToUpper(own[:1])+own[1:], allowance(b), moment(b.Until, now))
}

func liftable(b domain.Budget, button bool) string {
	if button {
		return "Owners can lift it for today."
	}
	return fmt.Sprintf("Owners can lift it for today: `/budget lift %s`", b.Code)
}

// allowance is a budget's limit, such as "$5 a day".
func allowance(b domain.Budget) string {
	if b.Monthly {
		return b.Limit.String() + " a month"
	}
	return b.Limit.String() + " a day"
}

// ownBudget names a budget for a person to whom it applies.
func ownBudget(b domain.Budget) string {
	switch b.Per {
	case domain.PerPerson:
		return "your budget"
	case domain.PerSession:
		return "this conversation's budget"
	case domain.PerAgent:
		return "this agent's budget"
	default:
		return "the budget of all conversations"
	}
}

// payer names whose turns a budget counts, for owners.
func payer(b domain.Budget) string {
	switch b.Per {
	case domain.PerPerson:
		return "the person " + Code(OneLine(strings.TrimPrefix(b.Subject, "peer:"), maxSubject))
	case domain.PerSession:
		return "the conversation " + Code(OneLine(b.Subject, maxSubject))
	case domain.PerAgent:
		return "the agent " + Code(OneLine(b.Subject, maxSubject))
	default:
		return "all conversations"
	}
}

// Bounds of a list of budgets.
const (
	maxSubject = 200 // characters
	maxBudgets = 30
)

// Budgets is the list of all budgets of which something was spent.
func Budgets(list []domain.Budget, now time.Time) string {
	if len(list) == 0 {
		return NoBudgets
	}
	var b strings.Builder
	b.WriteString("**Budgets**\n")
	for _, budget := range list[:min(len(list), maxBudgets)] {
		fmt.Fprintf(&b, "\n- `%s` %s: %s", budget.Code, payer(budget), standing(budget, now))
	}
	if more := len(list) - maxBudgets; more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	return b.String() + "\n\n`/budget lift CODE` lifts one for today."
}

// standing is what was spent of a budget.
func standing(b domain.Budget, now time.Time) string {
	text := fmt.Sprintf("%s of %s", spentOf(b), allowance(b))
	switch {
	case b.Lifted:
		return text + ", lifted for today"
	case b.UsedUp():
		return text + ", used up until " + moment(b.Until, now)
	default:
		return text
	}
}

// spentOf is what was spent, in the unit of the limit.
func spentOf(b domain.Budget) string {
	if b.Limit.Tokens > 0 {
		return fmt.Sprint(b.Tokens)
	}
	return fmt.Sprintf("$%.4f", float64(b.CostMicros)/1e6)
}

// BudgetLifted confirms that a budget is lifted.
func BudgetLifted(b domain.Budget, now time.Time) string {
	return fmt.Sprintf("The budget of %s for %s is lifted until %s. What waited for it goes on.", allowance(b), payer(b), moment(b.DayEnds, now))
}

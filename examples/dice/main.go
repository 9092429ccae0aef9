// Command dice is a command plugin: "/roll 2d6" throws two dice of six sides.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/clawhost/clawhost/sdk"
)

const (
	maxDice  = 100
	maxSides = 1000
)

const help = "Say how many dice and how many sides: `/roll 2d6`. 1 to 100 dice, 2 to 1000 sides."

var spec = sdk.CommandSpec{Name: "roll", Usage: "/roll 2d6", Summary: "Throw dice."}

func main() { sdk.Serve("dice", "0.1.0", sdk.Command(spec, roll)) }

func roll(_ context.Context, call sdk.CommandCall) (string, error) {
	dice, sides, ok := parse(call.Args)
	if !ok {
		return help, nil
	}
	sum := 0
	thrown := make([]string, dice)
	for i := range thrown {
		n := rand.IntN(sides) + 1
		sum += n
		thrown[i] = strconv.Itoa(n)
	}
	if dice == 1 {
		return fmt.Sprintf("🎲 **%d**", sum), nil
	}
	return fmt.Sprintf("🎲 %s = **%d**", strings.Join(thrown, " + "), sum), nil
}

// parse reads "2d6"; "d6" is one die, and nothing at all is one of six sides.
func parse(args string) (dice, sides int, ok bool) {
	args = strings.ToLower(strings.TrimSpace(args))
	if args == "" {
		return 1, 6, true
	}
	number, of, ok := strings.Cut(args, "d")
	if !ok {
		return 0, 0, false
	}
	if number == "" {
		number = "1"
	}
	dice, errDice := strconv.Atoi(number)
	sides, errSides := strconv.Atoi(of)
	ok = errDice == nil && errSides == nil && dice >= 1 && dice <= maxDice && sides >= 2 && sides <= maxSides
	return dice, sides, ok
}

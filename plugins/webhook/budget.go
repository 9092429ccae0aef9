package main

import (
	"errors"
	"fmt"
	"text/template"
)

// Limits of the execution of a template.
const (
	maxSteps = 100_000 // of all its loops
	maxMade  = 1 << 20 // bytes that its functions make
)

// The errors that end a template.
var (
	errSteps = fmt.Errorf("its loops have more than %d steps", maxSteps)
	errMade  = errors.New("its functions make too much text")
)

// stepFunction is the name of the function that counts the steps of loops.
const stepFunction = "_step"

// budget is what the execution of a template has used. Its functions are those of text/template that make texts, which could
// double a text in each step of a loop.
type budget struct{ steps, made int }

func (b *budget) functions() template.FuncMap {
	return template.FuncMap{
		stepFunction: b.step,
		"print":      b.counted(fmt.Sprint),
		"println":    b.counted(fmt.Sprintln),
		"html":       b.counted(template.HTMLEscaper),
		"js":         b.counted(template.JSEscaper),
		"urlquery":   b.counted(template.URLQueryEscaper),
		"printf":     b.printf,
	}
}

func (b *budget) step() (string, error) {
	if b.steps++; b.steps > maxSteps {
		return "", errSteps
	}
	return "", nil
}

// counted returns a function of text/template that uses each of its arguments once.
func (b *budget) counted(of func(...any) string) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		for i, arg := range args {
			if arg == nil {
				args[i] = ""
			}
		}
		return b.take(of(args...))
	}
}

// printf is fmt.Sprintf. Its format may come from the payload, and use arguments many times or with great widths.
func (b *budget) printf(format string, args ...any) (string, error) {
	left := maxMade - b.made
	for i, arg := range args {
		args[i] = operand{arg, &left}
	}
	return b.take(fmt.Sprintf(format, args...))
}

// take counts a text that was made.
func (b *budget) take(text string) (string, error) {
	if b.made += len(text); b.made > maxMade {
		return "", errMade
	}
	return text, nil
}

// operand is an argument of printf. It is empty if the payload does not have it.
type operand struct {
	value any
	left  *int // bytes for all operands
}

// Format implements [fmt.Formatter].
func (o operand) Format(state fmt.State, verb rune) {
	if o.value == nil || *o.left < 0 {
		return
	}
	n, _ := fmt.Fprintf(state, fmt.FormatString(state, verb), o.value)
	*o.left -= n
}

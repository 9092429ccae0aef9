package main

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// quiet is the width of the margin that readers of QR codes want, in modules. The standard says four; two do.
const quiet = 2

// drawQR draws a QR code with half blocks: a line is two rows. On a terminal it is black on white, whatever the terminal's
// own colours are; elsewhere the blocks are the light modules, for most terminals are dark.
func drawQR(content string, terminal bool) (string, error) {
	code, err := qr.Encode(content, qr.L)
	if err != nil {
		return "", fmt.Errorf("the QR code cannot be drawn: %w", err)
	}
	ink := func(x, y int) bool { return code.Black(x, y) == terminal }
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		if terminal {
			b.WriteString("\x1b[30;107m")
		}
		for x := -quiet; x < code.Size+quiet; x++ {
			switch upper, lower := ink(x, y), ink(x, y+1); {
			case upper && lower:
				b.WriteString("█")
			case upper:
				b.WriteString("▀")
			case lower:
				b.WriteString("▄")
			default:
				b.WriteString(" ")
			}
		}
		if terminal {
			b.WriteString("\x1b[0m")
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}

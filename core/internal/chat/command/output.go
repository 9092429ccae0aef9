package command

import "fmt"

// clipped keeps the beginning and the end of what is written to it, each up to so many bytes.
type clipped struct {
	most       int
	begin, end []byte
	left       int // bytes between them that were left out
}

// Write implements [io.Writer].
func (c *clipped) Write(p []byte) (int, error) {
	n := len(p)
	free := min(len(p), c.most-len(c.begin))
	c.begin, p = append(c.begin, p[:free]...), p[free:]
	c.end = append(c.end, p...)
	// The end is moved once in many writes.
	if len(c.end) > 2*c.most {
		c.trim()
	}
	return n, nil
}

// trim leaves out the beginning of the end.
func (c *clipped) trim() {
	if over := len(c.end) - c.most; over > 0 {
		c.left += over
		c.end = append(c.end[:0], c.end[over:]...)
	}
}

// Bytes returns what was kept, with a mark where something was left out.
func (c *clipped) Bytes() []byte {
	c.trim()
	all := append([]byte(nil), c.begin...)
	if c.left > 0 {
		all = fmt.Appendf(all, "\n[… %d bytes were left out here …]\n", c.left)
	}
	return append(all, c.end...)
}

package engine

// MaxRows bounds the rows of an overview.
const MaxRows = 1000

// Bounded returns a safe value for an untrusted limit.
func Bounded(limit int) int {
	if limit < 1 || limit > MaxRows {
		return MaxRows
	}
	return limit
}

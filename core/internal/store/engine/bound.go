package engine

// MaxRows bounds the rows of an overview.
const MaxRows = 1000

// Bounded returns a safe value for an untrusted limit.
func Bounded(limit int) int {
	const most = 1000
	if limit < 1 || limit > most {
		return most
	}
	return limit
}

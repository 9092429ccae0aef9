package process

import "fmt"

// Below reports whether a process descends from an ancestor that stays alive during the call, such as this process. With
// [Adopt] no descendant of this process can leave its tree. It returns an error if the process is gone, or if its ancestors
// kept changing.
func Below(pid, ancestor int) (bool, error) {
	const tries = 10
	for range tries {
		below, sure, err := below(pid, ancestor)
		if err != nil || sure {
			return below, err
		}
	}
	return false, fmt.Errorf("look at process %d: its ancestors keep changing", pid)
}

// below follows the parents of a process up to the ancestor. It is not sure if a process on the way ended meanwhile: its
// pid may then be another process's.
func below(pid, ancestor int) (below, sure bool, err error) {
	parent, err := Parent(pid)
	if err != nil {
		return false, false, err
	}
	for child := pid; parent != ancestor; {
		if parent <= 1 {
			return false, true, nil
		}
		above, err := Parent(parent)
		if err != nil {
			return false, false, nil
		}
		// A process whose parent ends gets another one. This one still has it, so the data that was read belongs to the
		// parent.
		if again, err := Parent(child); err != nil || again != parent {
			return false, false, nil
		}
		child, parent = parent, above
	}
	return true, true, nil
}

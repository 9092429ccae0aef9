package domain

// MaxTodos bounds a list of [Todo].
const MaxTodos = 50

// Todo is something that the agent plans to do, or has done, in its conversation.
type Todo struct {
	ID    string    `json:"id,omitempty"`    // by which the agent changes it; empty: it replaces the whole list each time
	Text  string    `json:"text"`            // one line, bounded
	Doing string    `json:"doing,omitempty"` // the text while it is being done; may be empty
	State TodoState `json:"state,omitempty"`
}

// TodoState is how far a [Todo] is.
type TodoState string

// The states.
const (
	TodoOpen  TodoState = ""
	TodoDoing TodoState = "doing"
	TodoDone  TodoState = "done"
)

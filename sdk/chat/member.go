package chat

// Member is a member of a group.
type Member struct {
	Sender
	IsAdmin bool
}

// Members are the members of a group, as far as its network lists them.
type Members struct {
	List       []Member
	Total      int  // how many there are; zero: unknown
	AdminsOnly bool // the network lists administrators only
}

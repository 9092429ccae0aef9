package discordtest

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
)

// HideMembers takes the intent from the bot without which it gets no list of members.
func (s *Server) HideMembers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.membersHidden = true
}

func (s *Server) getGuild(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, http.StatusOK, object{"id": r.PathValue("guild"), "owner_id": "1", "approximate_member_count": len(s.users)})
}

// getMembers has everybody be a member of each guild.
func (s *Server) getMembers(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.membersHidden {
		refuse(w, http.StatusForbidden, 50001, "Missing Access")
		return
	}
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	list := []object{}
	for _, id := range slices.Sorted(maps.Keys(s.users)) {
		if len(list) < max(limit, 1) {
			list = append(list, object{"user": s.userObject(id), "nick": nil, "roles": []string{}})
		}
	}
	answer(w, http.StatusOK, list)
}

package rowlock

// requests are the request ids that callers have chosen, while this client asks under them. Several calls may ask under
// one id and share its claim. A call that gives up must not take the claim from the others.
type requests map[string]*request

type request struct {
	// askers counts the calls that ask under the id and want its claim.
	askers int
	// left are the claims that the last of these calls gives back, unless a call is granted the claim.
	left []func()
	// ended are the leases of the id that this client has released meanwhile.
	ended map[string]bool
}

func (r requests) join(id string) {
	if id == "" {
		return
	}
	if r[id] == nil {
		r[id] = &request{ended: map[string]bool{}}
	}
	r[id].askers++
}

// leave: one of the calls has its outcome.
func (r requests) leave(id string, isGranted bool) {
	one := r[id]
	if one == nil {
		return
	}
	one.askers--
	if isGranted {
		// What the others wanted to give back is the same claim.
		one.left = nil
	}
	if one.askers > 0 {
		return
	}
	delete(r, id)
	for _, giveBack := range one.left {
		giveBack()
	}
}

// unwanted gives something back when the last call that asks under the id is done, or at once if there is none.
func (r requests) unwanted(id string, giveBack func()) {
	if one := r[id]; one != nil {
		one.left = append(one.left, giveBack)
	} else {
		giveBack()
	}
}

// released notes a release, so that an older answer that says the lease is held is not believed.
func (r requests) released(id, leaseID string) {
	if one := r[id]; one != nil {
		one.ended[leaseID] = true
	}
}

func (r requests) wasReleased(id, leaseID string) bool {
	one := r[id]
	return one != nil && one.ended[leaseID]
}

package rowlock

// requests are the request ids that callers have chosen, as long as this client asks for something under them: several calls
// may ask under one id, and share what there is. Who gives up must not take it from the others.
type requests map[string]*request

type request struct {
	// askers is how many ask under it and want what there is.
	askers int
	// left is what the last one of them gives back, unless it is granted.
	left []func()
	// ended are the leases of it that this client has released meanwhile.
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

// leave: one of them knows what became of it.
func (r requests) leave(id string, isGranted bool) {
	one := r[id]
	if one == nil {
		return
	}
	one.askers--
	if isGranted {
		// What others have left is the same claim.
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

// unwanted has something given back by the last one that asks under the id: at once, where nobody does.
func (r requests) unwanted(id string, giveBack func()) {
	if one := r[id]; one != nil {
		one.left = append(one.left, giveBack)
	} else {
		giveBack()
	}
}

// released: an answer that still says that this lease is held is older than its release.
func (r requests) released(id, leaseID string) {
	if one := r[id]; one != nil {
		one.ended[leaseID] = true
	}
}

func (r requests) wasReleased(id, leaseID string) bool {
	one := r[id]
	return one != nil && one.ended[leaseID]
}

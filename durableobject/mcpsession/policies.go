package mcpsession

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tandem-do/tandem/durableobject"
	"github.com/tandem-do/tandem/proto/props"
)

// maxPolicies is how many policies one owner may have.
const maxPolicies = 500

// Policies is the object with the rules of one organization and of its accounts. Each owner's list is one value, in the
// order of its positions, which are the indexes.
type Policies struct {
	// state is the object's.
	state *durableobject.State
	// lists caches what is stored, by key.
	lists map[string][]props.Policy
}

// listKey returns the key of an owner's list. It fails for an unknown owner, and for a user without an account.
func listKey(owner, account string) (string, error) {
	switch {
	case owner == props.OwnerOrganization:
		return "policies/org", nil
	case owner == props.OwnerUser && account != "":
		return "policies/user/" + account, nil
	case owner == props.OwnerUser:
		return "", invalid("accountId must not be empty")
	}
	return "", invalid(fmt.Sprintf("owner must be %q or %q", props.OwnerOrganization, props.OwnerUser))
}

func invalid(message string) error {
	return durableobject.Exception(props.ErrorNameInvalid, message)
}

func (p *Policies) load(ctx context.Context, owner, account string) (key string, list []props.Policy, err error) {
	if key, err = listKey(owner, account); err != nil {
		return "", nil, err
	}
	list, ok := p.lists[key]
	if !ok {
		if list, _, err = durableobject.Get[[]props.Policy](ctx, p.state.Storage(), key); err != nil {
			return "", nil, err
		}
		p.lists[key] = list
	}
	return key, list, nil
}

// store numbers and writes a list. The argument must not be one that load returned.
func (p *Policies) store(ctx context.Context, key string, list []props.Policy) error {
	for i := range list {
		list[i].Position = i
	}
	p.lists[key] = list
	if len(list) == 0 {
		_, err := durableobject.Delete(ctx, p.state.Storage(), key)
		return err
	}
	return durableobject.Put(ctx, p.state.Storage(), key, list)
}

// both returns the lists that hold for an account: the organization's and its own.
func (p *Policies) both(ctx context.Context, account string) (org, user []props.Policy, err error) {
	if _, org, err = p.load(ctx, props.OwnerOrganization, account); err != nil {
		return nil, nil, err
	}
	if account == "" {
		return org, nil, nil
	}
	_, user, err = p.load(ctx, props.OwnerUser, account)
	return org, user, err
}

func (p *Policies) list(ctx context.Context, q props.PolicyQuery) ([]props.Policy, error) {
	org, user, err := p.both(ctx, q.AccountID)
	if err != nil {
		return nil, err
	}
	return append(append(make([]props.Policy, 0, len(org)+len(user)), org...), user...), nil
}

func (p *Policies) decide(ctx context.Context, d props.PolicyDecide) (props.PolicyDecision, error) {
	org, user, err := p.both(ctx, d.AccountID)
	if err != nil {
		return props.PolicyDecision{}, err
	}
	return decidePolicy(d.Tool, org, user), nil
}

func (p *Policies) create(ctx context.Context, c props.PolicyCreate) (props.Policy, error) {
	if err := checkRule(&c.Pattern, &c.Action); err != nil {
		return props.Policy{}, err
	}
	key, list, err := p.load(ctx, c.Owner, c.AccountID)
	if err != nil {
		return props.Policy{}, err
	}
	if len(list) >= maxPolicies {
		return props.Policy{}, durableobject.Exception(props.ErrorNameLimit,
			fmt.Sprintf("an owner may have at most %d policies", maxPolicies))
	}
	now := p.state.Clock().Now().UTC().Truncate(time.Millisecond)
	policy := props.Policy{
		ID: "pol_" + uuid.NewString(), Owner: c.Owner, Pattern: c.Pattern, Action: c.Action,
		Position: len(list), CreatedAt: now, UpdatedAt: now,
	}
	return policy, p.store(ctx, key, append(slices.Clone(list), policy))
}

func (p *Policies) update(ctx context.Context, u props.PolicyUpdate) (props.Policy, error) {
	if err := checkRule(u.Pattern, u.Action); err != nil {
		return props.Policy{}, err
	}
	key, list, at, err := p.find(ctx, u.ID, u.Owner, u.AccountID)
	if err != nil {
		return props.Policy{}, err
	}
	if u.Position != nil && (*u.Position < 0 || *u.Position >= len(list)) {
		return props.Policy{}, invalid(fmt.Sprintf("position must be between 0 and %d", len(list)-1))
	}
	policy := list[at]
	if u.Pattern != nil {
		policy.Pattern = *u.Pattern
	}
	if u.Action != nil {
		policy.Action = *u.Action
	}
	policy.UpdatedAt = p.state.Clock().Now().UTC().Truncate(time.Millisecond)
	if u.Position != nil {
		policy.Position = *u.Position
	}
	rest := slices.Delete(slices.Clone(list), at, at+1)
	return policy, p.store(ctx, key, slices.Insert(rest, policy.Position, policy))
}

func (p *Policies) remove(ctx context.Context, r props.PolicyRemove) (props.PolicyRemoved, error) {
	key, list, at, err := p.find(ctx, r.ID, r.Owner, r.AccountID)
	if err != nil {
		return props.PolicyRemoved{}, err
	}
	return props.PolicyRemoved{Removed: true}, p.store(ctx, key, slices.Delete(slices.Clone(list), at, at+1))
}

// find returns where a policy is. Without an owner it looks in both lists that the account sees.
func (p *Policies) find(
	ctx context.Context, id, owner, account string,
) (key string, list []props.Policy, at int, err error) {
	owners := []string{owner}
	if owner == "" {
		owners = []string{props.OwnerOrganization, props.OwnerUser}
	}
	for _, o := range owners {
		if key, list, err = p.load(ctx, o, account); err != nil {
			return "", nil, 0, err
		}
		if at = slices.IndexFunc(list, func(q props.Policy) bool { return q.ID == id }); at >= 0 {
			return key, list, at, nil
		}
	}
	return "", nil, 0, durableobject.Exception(props.ErrorNameNotFound, fmt.Sprintf("there is no policy %q", id))
}

// checkRule checks the fields of a policy that are given.
func checkRule(pattern, action *string) error {
	if pattern != nil {
		if err := checkPattern(*pattern); err != nil {
			return invalid(err.Error())
		}
	}
	if action != nil && severity(*action) == 0 {
		return invalid(fmt.Sprintf("action must be %q, %q or %q",
			props.ActionApprove, props.ActionRequireApproval, props.ActionBlock))
	}
	return nil
}

package webapi

import "github.com/dop251/goja"

// liveIterator is what is behind an iterator that sees what is changed under it.
type liveIterator struct {
	internal
	// next gives the value at a place, or false behind the last one.
	next func(n int) (any, bool)
	at   int
}

// iterators are the classes of live iterators.
type iterators struct{ entries, keys, values *class[*liveIterator] }

func (r *Realm) installIterators() error {
	// Iterators of the language have the methods of all iterators from the prototype of theirs.
	prototype := r.iterate(nil).(*goja.Object).Prototype().Prototype()
	for _, kind := range []struct {
		class **class[*liveIterator]
		name  string
	}{
		{&r.iterators.entries, "EntryIterator"}, {&r.iterators.keys, "KeyIterator"}, {&r.iterators.values, "ValueIterator"},
	} {
		c := newClass[*liveIterator](r, kind.name, nil)
		c.method("next", func(it *liveIterator, _ goja.FunctionCall) goja.Value {
			result := r.rt.NewObject()
			v, ok := it.next(it.at)
			_ = result.Set("done", !ok)
			if ok {
				it.at++
				_ = result.Set("value", v)
			} else if r.dated.structs {
				_ = result.Set("value", goja.Undefined())
			}
			return result
		})
		if err := c.proto.SetPrototype(prototype); err != nil {
			return err
		}
		c.complete()
		*kind.class = c
	}
	return nil
}

// iterateLive defines entries, keys and values of a class whose objects hold a list of pairs.
func iterateLive[T native, E any](r *Realm, c *class[T], list func(T) []E, pair func(E) (string, goja.Value)) {
	each := func(name string, kind *class[*liveIterator], item func(E) any) {
		c.method(name, func(of T, _ goja.FunctionCall) goja.Value {
			return kind.wrap(&liveIterator{next: func(n int) (any, bool) {
				if all := list(of); n < len(all) {
					return item(all[n]), true
				}
				return nil, false
			}})
		})
	}
	each("entries", r.iterators.entries, func(e E) any {
		name, v := pair(e)
		return r.rt.NewArray(name, v)
	})
	each("keys", r.iterators.keys, func(e E) any {
		name, _ := pair(e)
		return name
	})
	each("values", r.iterators.values, func(e E) any {
		_, v := pair(e)
		return v
	})
	c.iterator("entries")
}

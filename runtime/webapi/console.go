package webapi

func (r *Realm) installConsole() error { return nil }

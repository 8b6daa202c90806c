package directory

import "context"

func openSQLite(ctx context.Context, path string) (Directory, error) { panic("not built yet") }
func openPostgres(ctx context.Context, dsn string) (Directory, error) { panic("not built yet") }

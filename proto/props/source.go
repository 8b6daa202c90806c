package props

import "time"

// NamespaceSources has one object per organization, named by the organization's ID: its sources of tools.
const NamespaceSources = "mcp-Sources"

// Methods of a sources object. Each throws the errors of a policies object: ErrorNameInvalid, ErrorNameNotFound and
// ErrorNameLimit, and ErrorNameUnreachable where it says so.
const (
	// MethodSourcesList takes SourceQuery, returns []Source by name.
	MethodSourcesList = "list"
	// MethodSourcesGet takes SourceQuery, returns Source.
	MethodSourcesGet = "get"
	// MethodSourcesCreate takes SourceCreate, returns Source. It connects first; ErrorNameUnreachable if that fails.
	MethodSourcesCreate = "create"
	// MethodSourcesUpdate takes SourceUpdate, returns Source. New credentials are tried first, as in create.
	MethodSourcesUpdate = "update"
	// MethodSourcesRemove takes SourceQuery, returns SourceRemoved.
	MethodSourcesRemove = "remove"
	// MethodSourcesRefresh takes SourceQuery, returns Source. A source that cannot be reached keeps its tools, and
	// Source.Refresh says why.
	MethodSourcesRefresh = "refresh"
	// MethodSourcesTools takes SourceQuery, returns SourceToolPage.
	MethodSourcesTools = "tools"
	// MethodSourcesSearch takes SourceSearch, returns SourceToolPage: tools of sources that are enabled.
	MethodSourcesSearch = "search"
	// MethodSourcesLookup takes SourceLookup, returns SourceFound.
	MethodSourcesLookup = "lookup"
	// MethodSourcesCall takes SourceCall, returns SourceResult.
	MethodSourcesCall = "call"
)

// ErrorNameUnreachable is the name of the error of a source that could not be reached, or that refused. The message says
// what happened and holds no secret.
const ErrorNameUnreachable = "SourceUnreachable"

// Kinds of a source.
const (
	// SourceMCP is a remote MCP server.
	SourceMCP = "mcp"
	// SourceOpenAPI is an HTTP API that an OpenAPI 3 document describes.
	SourceOpenAPI = "openapi"
)

// Kinds of a source's authentication.
const (
	// SourceAuthNone sends nothing.
	SourceAuthNone = "none"
	// SourceAuthBearer sends a token as "Authorization: Bearer".
	SourceAuthBearer = "bearer"
	// SourceAuthHeader sends a value in a header of its own.
	SourceAuthHeader = "header"
	// SourceAuthOAuth sends access tokens, and gets new ones with the credentials of a sign-in.
	SourceAuthOAuth = "oauth"
)

// What a refresh came to.
const (
	// RefreshNever: the source was added without being asked.
	RefreshNever = "never"
	// RefreshOK: its tools are those that it had at the time.
	RefreshOK = "ok"
	// RefreshError: it could not be reached; its tools are older.
	RefreshError = "error"
)

// Limits of sources.
const (
	// MaxSourceDocumentBytes bounds an OpenAPI document.
	MaxSourceDocumentBytes = 4 << 20
	// MaxSourceSecretBytes bounds a token, a header's value or OAuth credentials.
	MaxSourceSecretBytes = 64 << 10
)

// Source is one source of tools, as anybody in the organization may see it: without its secret.
type Source struct {
	// ID is "src_" and a UUID.
	ID string `json:"id"`
	// Name is the first segment of its tools' paths: an identifier, unique in the organization.
	Name string `json:"name"`
	// Kind is SourceMCP or SourceOpenAPI.
	Kind string `json:"kind"`
	// URL is the MCP endpoint, or where the document is; empty for a document that was handed over.
	URL string `json:"url,omitempty"`
	// BaseURL is where an OpenAPI source's operations are, if not where the document says.
	BaseURL string `json:"baseUrl,omitempty"`
	// Auth says how it authenticates.
	Auth SourceAuth `json:"auth"`
	// Enabled sources have their tools in the catalogue.
	Enabled bool `json:"enabled"`
	// Tools is how many it has.
	Tools int `json:"tools"`
	// Refresh is the last one.
	Refresh SourceRefresh `json:"refresh"`
	// CreatedBy is an account. CreatedAt and UpdatedAt are in UTC.
	CreatedBy string    `json:"createdBy"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// SourceAuth says how a source authenticates, without the secret.
type SourceAuth struct {
	// Kind is one of the SourceAuth values.
	Kind string `json:"kind"`
	// Header is the header's name, with SourceAuthHeader.
	Header string `json:"header,omitempty"`
}

// SourceRefresh is what a refresh came to.
type SourceRefresh struct {
	// Status is one of the Refresh values.
	Status string `json:"status"`
	// Message says what went wrong, or what was left out.
	Message string `json:"message,omitempty"`
	// At is when, in UTC; nil with RefreshNever.
	At *time.Time `json:"at,omitempty"`
}

// SourceCredentials are a kind of authentication and its secret.
type SourceCredentials struct {
	// Kind is one of the SourceAuth values.
	Kind string `json:"kind"`
	// Header is the header's name, with SourceAuthHeader.
	Header string `json:"header,omitempty"`
	// Secret is the token, the header's value, or the OAuth credentials as JSON; empty with SourceAuthNone.
	Secret string `json:"secret,omitempty"`
}

// SourceQuery asks for one source, or for all; Limit and Offset choose a page of its tools.
type SourceQuery struct {
	ID     string `json:"id,omitempty"`
	Limit  int    `json:"limit,omitempty"`
	Offset int    `json:"offset,omitempty"`
}

// SourceCreate adds a source.
type SourceCreate struct {
	AccountID string `json:"accountId"`
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	URL       string `json:"url,omitempty"`
	BaseURL   string `json:"baseUrl,omitempty"`
	// Document is an OpenAPI document, instead of a URL.
	Document string            `json:"document,omitempty"`
	Auth     SourceCredentials `json:"auth"`
	Disabled bool              `json:"disabled,omitempty"`
	// Unverified adds the source without connecting to it: it has no tools before a refresh.
	Unverified bool `json:"unverified,omitempty"`
}

// SourceUpdate changes the fields that are set.
type SourceUpdate struct {
	ID      string             `json:"id"`
	Name    *string            `json:"name,omitempty"`
	Enabled *bool              `json:"enabled,omitempty"`
	Auth    *SourceCredentials `json:"auth,omitempty"`
	// Unverified takes the credentials without trying them.
	Unverified bool `json:"unverified,omitempty"`
}

// SourceRemoved confirms it.
type SourceRemoved struct {
	Removed bool `json:"removed"`
}

// SourceSearch asks for tools whose path or description has all words of a query.
type SourceSearch struct {
	Query  string `json:"query"`
	Limit  int    `json:"limit"`
	Offset int    `json:"offset"`
}

// SourceToolItem is a tool in a list.
type SourceToolItem struct {
	// Path is <source>.<tool>.
	Path string `json:"path"`
	// Name is what the source calls it.
	Name string `json:"name"`
	// Description is the beginning of what the source says about it.
	Description string `json:"description"`
}

// SourceToolPage is a part of a list of tools.
type SourceToolPage struct {
	Items []SourceToolItem `json:"items"`
	// Total is how many there are in all.
	Total int `json:"total"`
}

// SourceLookup asks for the tool at a path.
type SourceLookup struct {
	Path string `json:"path"`
}

// SourceFound is the tool at a path, or what may have been meant.
type SourceFound struct {
	// Tool is nil if there is none.
	Tool        *SourceTool `json:"tool,omitempty"`
	Suggestions []string    `json:"suggestions,omitempty"`
}

// SourceTool is one tool in full.
type SourceTool struct {
	Path        string `json:"path"`
	Description string `json:"description"`
	// InputSchema and OutputSchema are JSON.
	InputSchema  []byte `json:"inputSchema"`
	OutputSchema []byte `json:"outputSchema,omitempty"`
}

// SourceCall calls the tool at a path.
type SourceCall struct {
	Path string `json:"path"`
	// Arguments are a JSON object.
	Arguments []byte `json:"arguments"`
}

// SourceResult is what a call came to: Data, as JSON, or Error.
type SourceResult struct {
	Data  []byte       `json:"data,omitempty"`
	Error *SourceError `json:"error,omitempty"`
}

// SourceError is a call's failure, for the program that made it.
type SourceError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	// Details are JSON.
	Details []byte `json:"details,omitempty"`
}

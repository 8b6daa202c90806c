package projects

const orderID = "123e4567-e89b-12d3-a456-426614174000"

var schemas = []application{
	{name: "zod", steps: []step{
		{method: "POST", path: "/orders", status: 201,
			body: `{"id":"` + orderID + `","email":"a@b.example","lines":[{"sku":"AB-1","count":2},{"sku":"CD-22","count":3}],` +
				`"payment":{"kind":"card","last4":"4242"}}`,
			want: `{"id":"` + orderID + `","email":"a@b.example","state":"open","lines":[{"sku":"AB-1","count":2},{"sku":"CD-22","count":3}],` +
				`"payment":{"kind":"card","last4":"4242"},"total":5}`},
		{method: "POST", path: "/orders", status: 422, body: `{"id":"7","email":"a","lines":[{"sku":"x","count":0.5}],"due":"2026-02-30","payment":{"kind":"cash"}}`,
			has: `"id: Invalid UUID","email: Invalid email address"`},
		{path: "/schema", want: `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
			`"properties":{"name":{"type":"string","maxLength":8},"tags":{}},"required":["name"],"additionalProperties":false}`},
		{method: "POST", path: "/mood", body: "🙂🙂", want: "true"},
		{method: "POST", path: "/mood", body: "glad", want: "false"},
		{path: "/throw", status: 500, has: "Invalid input: expected string, received number"},
	}},
	{name: "jose", files: map[string]string{".dev.vars": "SECRET=0123456789abcdef0123456789abcdef\n"}, steps: []step{
		{path: "/me", status: 401, want: "sign in first"},
		{path: "/login?user=ann", status: 204},
		{path: "/me", want: `{"user":"ann","role":"member","lasts":7200}`},
		{path: "/me", header: map[string]string{"Cookie": "session=e30.e30.AAAA"}, status: 401},
		{path: "/pair?alg=ES256", want: "ES256 1"},
		{path: "/pair?alg=EdDSA", want: "EdDSA 1"},
		{path: "/pair?alg=RS256", want: "RS256 1"},
		{path: "/pair?alg=PS256", want: "PS256 1"},
		{path: "/sealed", want: "hidden"},
		{path: "/wrapped", want: "hidden"},
	}},
}

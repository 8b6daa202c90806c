// Package websession signs people in at a browser, for the worker's pages and its API.
//
//	page ──no session──► issuer's sign-in ──code──► /auth/callback ──session cookie──► the page again
//
// The sign-in is the issuer's authorization code flow with PKCE, state and nonce. What belongs to one attempt is in a
// sealed cookie of its own for ten minutes, so that several pages may sign in at once and the worker keeps nothing.
//
// A session is a sealed cookie too: account, organization, a token for forms, and when it ends, eight hours after the
// sign-in. Membership is asked of the directory for every request, as for a bearer token. Signing out removes the
// cookie; whoever has copied it before can use it until it ends. The seal is AES-GCM with a key that several workers may
// share; a session of one issuer is none of another.
//
// The worker is a client of the issuer either by Options.ClientID, or, where the issuer takes such, by the address of
// its own client-ID metadata document, which needs no registration. With neither, Ready and every sign-in say so.
//
// A cookie is sent by the browser whoever asks, so every request that changes something must pass CheckOrigin, and a
// form CheckForm. Everything may be called from any goroutine.
package websession

package script

import "net/http"

// placeholderCF is request.cf in development, where no edge is in front that knows a client's place and connection. The
// fields are those of wrangler dev; the values are of nobody.
const placeholderCF = `{
	"asOrganization": "Example Network", "asn": 64496, "colo": "SEA", "city": "Seattle", "region": "Washington",
	"regionCode": "WA", "metroCode": "819", "postalCode": "98101", "country": "US", "continent": "NA",
	"timezone": "America/Los_Angeles", "latitude": "47.60621", "longitude": "-122.33207",
	"clientTcpRtt": 0, "httpProtocol": "HTTP/1.1", "requestPriority": "weight=192;exclusive=0",
	"tlsCipher": "AEAD-AES128-GCM-SHA256", "tlsVersion": "TLSv1.3",
	"tlsClientAuth": {
		"certPresented": "0", "certVerified": "NONE", "certRevoked": "0", "certIssuerDN": "", "certSubjectDN": "",
		"certIssuerDNRFC2253": "", "certSubjectDNRFC2253": "", "certIssuerDNLegacy": "", "certSubjectDNLegacy": "",
		"certSerial": "", "certIssuerSerial": "", "certSKI": "", "certIssuerSKI": "", "certFingerprintSHA1": "",
		"certFingerprintSHA256": "", "certNotBefore": "", "certNotAfter": ""
	},
	"edgeRequestKeepAliveStatus": 0, "clientTrustScore": 99,
	"botManagement": {
		"corporateProxy": false, "verifiedBot": false, "ja3Hash": "00000000000000000000000000000000",
		"staticResource": false, "detectionIds": [], "score": 99
	}
}`

// developmentCF is a webapi.CF.
func developmentCF(*http.Request) string { return placeholderCF }

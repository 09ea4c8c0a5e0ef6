# OpenSSL: keys from a fixed seed are not to be had, so digests, ciphers and a certificate's text.
#@ needs openssl
#@ broken-by malloc_short
set -e
seq 1 200000 >data
for digest in md5 sha1 sha256 sha512 blake2b512; do openssl dgst -"$digest" <data; done
openssl enc -aes-256-ctr -K 00ff -iv 01 2>/dev/null <data | openssl enc -d -aes-256-ctr -K 00ff -iv 01 2>/dev/null | cmp - data
openssl genrsa -out key.pem 2048 2>/dev/null && openssl rsa -in key.pem -check -noout 2>&1
openssl req -x509 -key key.pem -subj /CN=tarn -days 1 -out cert.pem 2>&1
openssl verify -CAfile cert.pem cert.pem
openssl speed -seconds 1 -bytes 1024 -elapsed sha256 2>/dev/null | grep -c '^sha256'

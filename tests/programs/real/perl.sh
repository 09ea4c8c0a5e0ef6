# Perl: hashes, sorting, regular expressions, growing strings and arrays.
#@ needs perl
#@ broken-by realloc_drops
export PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0
exec perl -e '
my (%count, @rows, $text);
for my $i (0 .. 60000) {
  my $word = "w" . ($i * 7919 % 4099);
  $count{$word} .= chr(97 + $i % 26);
  push @rows, [$i, $word, $i x ($i % 7)];
  $text .= "$word ";
}
print join(",", map { "$_:" . length $count{$_} } (sort keys %count)[0 .. 50]), "\n";
print scalar(() = $text =~ /w(\d)\d*\1 /g), "\n";
my $sum = 0; $sum += $_->[0] * length $_->[2] for sort { $b->[1] cmp $a->[1] } @rows;
print "$sum\n", unpack("%32C*", $text), "\n";
'

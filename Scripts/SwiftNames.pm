# Which files of a module name what other files declare, for the scripts beside this file.
#
# Approximates by text, without a compiler. A file names another one if it mentions a type that only
# the other file declares, or a member, with a dot before it or a parenthesis behind it, of which
# only the other file declares one of that name. A name does not count in a file that declares the
# same name itself, nor if the standard library has a member of that name.
package SwiftNames;
use strict;
use warnings;

my %standard = map { $_ => 1 } qw(
    Continuation Failure Iterator isCurrent leaving members submit thread acquiring allocate append contains contents count deallocate
    deinitialize description duration dropFirst dropLast elements enumerated failure filter first
    firstIndex forEach head index initialize insert isEmpty isMain joined last load lock move
    newValue none oldValue perform popFirst popLast prefix rawValue relaxed release releasing
    remove removeAll removeFirst removeLast reserveCapacity result resume reversed rest retain
    run shared sorted start store success take type union unlock unowned values wait withLock
    yield);

# Returns the files below a folder, the number of lines of each, and for each file its uses: by the
# path of the other file and the name, the lines that mention the name.
sub read_folder {
    my $folder = shift;
    my @files = sort split /\n/, `find '$folder' -name '*.swift'`;
    my (%lines, %types, %members, %own, %words);
    for my $file (@files) {
        open my $handle, '<', $file or die "$file: $!\n";
        local $/;
        my $source = <$handle>;
        $lines{$file} = ($source =~ tr/\n//);
        $source =~ s{//[^\n]*}{}g;
        $source =~ s{"(?:\\.|[^"\\\n])*"}{""}g;
        while ($source =~ /^( *)(.*?)\b(class|struct|enum|protocol|actor|typealias) ([A-Z]\w*)/mg) {
            $own{$file}{$4} = 1;
            next if $2 =~ /private|[.(:]/;
            $types{$4}{$file} = 1 if length $1 <= 4;
        }
        while ($source =~ /^(?: {4})?((?:[@\w().]+ )*?)(func|var|let|case) (\w+)/mg) {
            $own{$file}{$3} = 1;
            next if $1 =~ /private(?!\(set)|override/ || $2 eq 'case';
            $members{$3}{$file} = 1;
        }
        $members{$1}{$file} = 1 while $source =~ /^ *(?:\w+ )?static (?:let|var|func) (\w+)/mg;
        while ($source =~ /\bcase ([a-z]\w*(?:, [a-z]\w*)*)/g) {
            $members{$_}{$file} = $own{$file}{$_} = 1 for split /, /, $1;
        }
        $own{$file}{$1} = 1 while $source =~ /[<,] ?(\w+) ?:/g;
        $own{$file}{$1} = 1 while $source =~ /\b(?:func|var|let|case) (\w+)/g;
        my %parameters = map { $_ => 1 } $source =~ /(\w+): (?:@\w+ )*\(/g;
        my $number = 0;
        for my $line (split /\n/, $source) {
            $number++;
            push @{ $words{$file}{$1} }, $number while $line =~ /\b([A-Z]\w*)/g;
            push @{ $words{$file}{$1} }, $number while $line =~ /[.\\]([a-z_]\w*)/g;
            while ($line =~ /(?<![.\w])([a-z_]\w*)\(/g) {
                push @{ $words{$file}{$1} }, $number unless $parameters{$1};
            }
        }
    }
    my %owner;
    for my $kind (\%types, \%members) {
        for my $name (keys %$kind) {
            my @owners = keys %{ $kind->{$name} };
            next if @owners != 1 || length $name < 4 || $standard{$name};
            $owner{$name} = $owners[0] unless $kind == \%members && $types{$name};
        }
    }
    my %uses;
    for my $file (@files) {
        for my $name (keys %{ $words{$file} }) {
            my $owner = $owner{$name} or next;
            next if $owner eq $file || $own{$file}{$name};
            $uses{$file}{$owner}{$name} = $words{$file}{$name};
        }
    }
    return (\@files, \%lines, \%uses);
}

1;

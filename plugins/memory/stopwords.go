package main

import "strings"

// isStopWord reports whether a folded word with its [lightStem] is insignificant in English or German.
func isStopWord(word string) bool {
	_, ok := stopWords[word]
	return ok
}

// stopWords are frequent words of English and German, greetings, and words that requests are made with.
var stopWords = func() map[string]struct{} {
	set := map[string]struct{}{}
	for field := range strings.FieldsSeq(stopWordList) {
		set[lightStem(fold(field))] = struct{}{}
	}
	return set
}()

const stopWordList = `
a about above call called name named names actually after again against all also always am an and any anyone anything are aren around as ask at be because
been before being below between both bit but by came can cannot come comes could couldn d did didn do does doesn doing don
done down during each either else even ever every few find first for from further gave get gets getting give gives given go
goes going gone got had hadn happen happened has hasn have haven having he help her here hers herself him himself his how
however i if in into is isn it its itself just keep kept knew know known last later least let like list little ll look looking
looks lot m made make makes making many may maybe me mean means mention mentioned might mine more most much must my myself
need needed needs never next no nor not nothing now of off often ok okay on once one only onto or other our ours ourselves
out over own past perhaps please put quite rather re really recall remember remind reminded s said same saw say says see
seem seems seen set shall she should shouldn show since so some somebody someone something soon still such sure t take taken
takes talk talked tell telling than that the their theirs them themselves then there these they thing things think this those
though thought through till to today together told tomorrow tonight too took try trying two under until up upon us use used
uses using ve very want wanted wants was wasn way we well went were weren what whatever when where whether which while who
whom whose why will with wrong within without won would wouldn write wrote yes yesterday yet you your yours yourself again
again currently anyway able ago already almost back great good nice fine right new old big small

hello hi hey hiya yo morning afternoon evening night bye goodbye thanks thank thx cheers welcome cool awesome perfect sorry
hallo servus moin tag abend nacht tschuess danke bitte gern gerne prima super toll klar genau gut gute guten gutes guter vielen

ab aber alle allem allen aller alles als also am an andere anderen anderer anderes anders auch auf aus bei beim bekam bekommen
bevor bin bis bist da dabei dafuer damals damit danach dann daran darauf daraus darf das dass davon davor dazu dein deine
deinem deinen deiner dem den denn der deren des deshalb dessen dich die dies diese diesem diesen dieser dieses dir doch dort
du durch eben ein eine einem einen einer eines einige einmal er erinnere erinnern erst erstmal es etwa etwas euch euer eure
fast fuer ganz gar geben gegen gehen geht gemacht genug gerade gesagt gestern gewesen gib gibt ging habe haben habt hast hat
hatte hatten heisst heisse heute hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im immer in ins ist ja
jede jedem jeden jeder jedes jemand jene jetzt kann kannst kein keine keinem keinen keiner kommt koennen koennte koenntest
lassen laut letzte letzten letzter letztes machen macht mal namen man manche mehr mein meine meinem meinen meiner meines mich mir
mit moechte morgen muss muessen musst nach neben nein nicht nichts nie noch nochmal nun nur ob oder oft ohne sag sage sagen
sagt sagte schon sehr sei seid sein seine seinem seinen seiner seit selbst sich sie sind so sobald solche soll sollen sollte
sondern sonst um und uns unser unsere unserem unseren unserer unter viel viele vielleicht vom von vor wann war waren warst
warum was weil weiss weisst weiter welche welchem welchen welcher welches wem wen wenn wer werde werden weshalb wessen wie
wieder will willst wir wird wirst wo wohin wollen wollte wollten worden wozu wurde wurden wuerde ueber zu zum zur zurueck
zwischen nennen nenne nochmals neu neue alt alte gross grosse klein kleine hilf helfen
`

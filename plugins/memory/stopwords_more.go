package main

import "strings"

// Frequent words of French, Spanish and Russian, greetings, and words that requests are made with, folded but not stemmed.
var (
	frenchStopWords  = folded(frenchStopWordList)
	spanishStopWords = folded(spanishStopWordList)
	russianStopWords = folded(russianStopWordList)
)

func folded(list string) map[string]struct{} {
	set := map[string]struct{}{}
	for field := range strings.FieldsSeq(list) {
		set[fold(field)] = struct{}{}
	}
	return set
}

// functionWords blanks out words of Chinese, Japanese, Korean and Thai with which questions and requests are made, in texts
// that are searched for.
var functionWords = strings.NewReplacer(blanked(functionWordList)...)

func blanked(list string) (pairs []string) {
	for field := range strings.FieldsSeq(list) {
		pairs = append(pairs, field, " ")
	}
	return pairs
}

const frenchStopWordList = `
a ai aie aime aimerais alors apres as au aucun aussi autre aux avais avait avant avec avez avoir avons bien bonjour bonsoir c ca car ce
cela celle celui ces cet cette chez ci combien comme comment d dans de deja depuis derniere dernier des deux dis dit dois doit
donc donne du elle elles en encore est et etais etait ete etes etre eu eux fait faire fais faut fois font grace ici il ils j
je jour juste l la le les leur leurs lors lui m ma mais me meme merci mes moi moins mon n ne ni non nos notre nous nouveau on
ont ou par parle parler pas pendant petit peu peut peux plus plait pour pourquoi pouvez puis qu quand que quel quelle quelles
quels qui quoi rappelle s sa sais sait salut sans se sera ses si son sont sous suis sur t ta te tes toi ton toujours tous tout
toute toutes tres trop tu un une va vais vers veux veut voici voila vont vos votre voudrais vous vraiment y
`

const spanishStopWordList = `
a adonde ahi ahora al algo alguien alguna alguno algunos alla ante antes aqui asi aun aunque bien buenas buenos cada casi como con contra
cosa cual cuales cuando cuanta cuanto cuantos cuantas de debe debo decir del desde despues di dia dice dime donde dos e el ella
ellas ellos en entonces entre era eran eres es esa ese eso esos esta estaba estan estar estas este esto estos estoy favor fue
fueron gracias gran ha haber habia hace hacer hacia han has hasta hay he hola hoy i ir la las le les lo los mas me mi mia mientras
mio mis mismo muy nada ni no nos nosotros nuestra nuestro nunca o os otra otro otros para pero poco por porque puede puedes puedo
pues que quien quienes quiero recuerda recuerdas sabe sabes se sea ser si sido siempre sin sobre sois solo somos son soy su sus tal
tambien tan tanto te tengo ti tiene tienen tienes todo todos tu tus un una unas uno unos va vamos vas veces vez voy y ya yo
`

const russianStopWordList = `
а без более больше бы был была были было быть в вам вами вас ваш ваша ваше ваши ведь весь во вот впрочем все всегда всего всех всю
второй второго вторую вы где да давай даже дай два для до его ее ей ему если есть еще же за завтра здесь здравствуй здравствуйте и из или им
ими иногда их к как какая какие каким каких какого какое какой каком какому какую год года году лет когда кого кому конечно кто куда ли либо лучше между
меня мне много может можно мой моя моё мое мои моих моей моего моему мой моих мы на над надо назови нам нами нас наш наша наше наши нашей нашу нашего напомни
напиши не него нее ней нельзя нет ни нибудь никогда ним них ничего но ну нужно о об один одна она они оно опять от очень перед
по под подскажи пожалуйста покажи пока после потом потому почему при привет про помоги помнишь продолжай продолжи равно раз разве
расскажи с сам сама сегодня себе себя сейчас скажи сколько снова со совсем спасибо столько так такая такие такой также там тебе тебя
тем теперь то тобой тогда того тоже той только том тот три тут ты у уж уже хорошо хочу хотя чего чей чем через что чтобы
чуть эта эти это этого этой этом этот эту я этих дела дело делать день дней каким большое наконец вчера зовут называется
`

const functionWordList = `
请问 请把 请帮 请 帮我 给我 告诉 谢谢 你好 您好 什么时候 什么地方 什么 怎么样 怎么做 怎么办 怎么 怎样 为什么 多少钱 多少 多久 多长 几点 几号 几月 几天
哪里 哪儿 哪个 哪家 哪天 哪一天 哪一年 哪一座 哪年 哪 谁 吗 呢 吧 啊 的 了 是 在 我们 你们 他们 我 你 您 他 她 它 这个 那个 这些 那些 这 那 有 没有 和 与 或者 还是
应该 可以 能 会 要 想 去 来 就 都 也 很 还 又 把 被 给 对 从 到 向 一下 一个 一次 一首 一座 现在 今天 明天 昨天 叫 关于 知道 记得 顺便 确认 到底 如果 的话 以及
不是 不要 不 说 做 写 放 用 次 世界上 最 第二 部分 继续 写一 句话 翻译成 成 下周 上周 几
です でした ます ました ません ください ましたか ますか ですか ました なんですか なのですが のですが だけれど けれど ったっけ だっけ だった って という
どこ なに いつ だれ どの どれ どう どのくらい いくら いくつ なぜ から まで こと もの ため とき ところ について ている ています ていた ていて してい した して する しますか
あります ありますか ありました ある いる います いますか ありがとう こんにちは こんばんは おはよう すみません お願い 教えて 書いて 言って 何年 何時 何日 何 誰 私 僕 あなた
は が を に で と も の へ や か な よ ね だ た て れ る り さ し い う く き け ば そ あ お
今日 明日 昨日 今 今夜 一番 最も 続き 元気 方
뭐 무엇 언제 어디 누구 왜 어떻게 얼마 입니까 인가요 나요 까요 해줘 주세요 알려
อะไร ที่ไหน เมื่อไหร่ ใคร ทำไม อย่างไร เท่าไหร่ เท่าไร กี่ ครับ ค่ะ คะ ไหม ของ ที่ เป็น คือ ฉัน ผม คุณ และ ใน ไป มา ได้ ให้ ชื่อ
`

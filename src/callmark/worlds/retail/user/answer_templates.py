"""Templates of users' answers, by question; `@` marks the variant of a style."""

from collections.abc import Mapping

PARTS: Mapping[str, str] = {
    "sure": "[|||sure, |of course, |okay, |certainly, |no problem, |right, |gladly, |here you go: ]",
    "sure@terse": "",
    "sure@polite": "[||of course, |certainly, |with pleasure, |by all means, |thank you, ]",
    "sure@impatient": "[|||fine, |okay, |right, ]",
    "sure@unsure": "[||um, |let me see... |okay, |hmm, ]",
    "sure@chatty": "[|oh sure, |of course! |sure thing, |let me see: |ah, |here goes: |no problem at all, ]",
    "small": "",
    "small@chatty": "[||||| [I hope that's right|my memory isn't what it was|I had to look that up|took me a moment to find|the cat "
    "nearly sat on the keyboard|I've got it written down here|my tea is getting cold|the dog is barking, sorry]!||]",
    "small@polite": "[||||||| thank you.| I hope that helps.| please tell me if you need [more|anything else].|]",
    "small@impatient": "[|||||| [can we move on|what next|anything more|is that enough]?| [please be quick|make it quick].|]",
    "small@unsure": "[|||||| [I think|at least I hope so|if I remember rightly|I hope that's the right one].| [is that enough|is that "
    "what you need]?|]",
    "please": "[|, please||]",
    "please@polite": "[, please|, if I may|, if that is all right|, if you please|]",
    "please@unsure": "[|, I think|, I suppose|, if possible|]",
    "please@terse": "",
    "email": "[my email [address |]is|it's|the email is|that would be|the account is under|I [signed up|registered|ordered] with|you'll "
    "find me under|it should be|look for|try] {email}.",
    "email@terse": "[|email: |it's |under |it's under ]{email}",
    "no email": "[I [don't have|don't know|can't remember|lost access to] [that email address|the email I used|my old email address|it]|I "
    "[forgot|have forgotten] which email [I used|it was|I signed up with]|I've changed [email addresses|providers] since, and can't "
    "[recall|remember] [which it was|the old one]|[no idea|not sure] which email [that was|I used][, sorry|]]. [is there another way|can "
    "you find me otherwise|can we do it another way|does anything else work]?",
    "no email@terse": "[don't know it|don't remember it|forgot which one|no idea which one]. [another way|anything else]?",
    "name": "[[my name is|I'm|it's|the name is|the account is in the name of|look for|you'll have me as] {first} {last}[, zip code| and "
    "my zip code is|, and the zip is|, zip|, and I live in|. the zip code is] {zip}|{first} {last}, [{zip}|zip code {zip}|and the zip is "
    "{zip}]].",
    "name@terse": "{first} {last}, [zip |]{zip}.",
    "no luck": "[||oh, a typo. |sorry, a typo. |oh, sorry. |my mistake. |oops. |ah, I [left something out|typed that too fast|missed a "
    "bit]. |[sorry|oh], I [mistyped it|cut it short]. ]",
    "no luck@impatient": "[|great. |typical. |fine. |seriously? |then like this: ]",
    "order": "[it's [order |]|the [order |]number is |the order is |that's |that would be |[I have|I've got|the email says|my "
    "confirmation says|it says here|I see] |it should be [order |]]{id}.",
    "order@terse": "[|order |it's |number ]{id}[.|]",
    "order@unsure": "[[I think it's|it should be|if I read this right, it's|it says|probably] {id}.|would {id} be right?|is it {id}, "
    "perhaps?]",
    "order again": "[[sorry|oh, sorry|oops|my mistake|ah|I see], [I [misread|mixed up|mistyped] it|wrong one|I looked at the wrong email|"
    "that was the wrong one]|[let me|I'll] [check|look] again|[hold on|one second], I had [the wrong email open|an old one in front of "
    "me]]. [it's|the right one is|it should be|the number is|what I have here is] {id}.",
    "order again@terse": "[oops|sorry|wrong one|misread]. {id}.",
    "order unknown": "[I [don't have|haven't got|can't find] [the number|it|that number][ at hand| right now| here|]|I [lost|deleted|"
    "didn't keep] [the|that] email|I don't [know|remember] [it|the number][ by heart|, sorry|]|[no idea|not sure], I [deleted|can't find] "
    "the email]. [it's|I mean|it must be|it was] the [order|one] [with|that has] the {described}[ in it|].[| [can|could] you [look it up|"
    "find it|search for it][ for me|]?]",
    "order unknown@terse": "[don't have it|don't know|no idea|not at hand]. the [one|order] with the {described}.",
    "same order": "[it's|I mean] [the same order|the same one|that same order] [as before|again|we just talked about].",
    "items": "[[it's|just|only|I mean|that's|it's about|I'm talking about|that would be] {goods}|{goods}[, nothing else|, that's it|, "
    "only that|, and that's all|]]<please>.",
    "items@terse": "[|just |only ]{goods}.",
    "everything": "[everything[ in it| that's in there| in that order|]|all of it|the whole [order|lot|thing]|all the items[ in it|]|"
    "[it's|I mean] everything in [it|there]|all that [came|is in it|I bought]]<please>.",
    "wanted": "[[I'd like|I want|I'd prefer|I'd take|I'll take|let's take|give me|I'd rather have|make it|I was thinking of|I'm after|I'd "
    "go for|let's go with] {wanted}|{wanted}[ would be [right|great|better|perfect|good]| is what I'm after| would do]]<same><please>.",
    "wanted@terse": "[|make it |I'd like |rather ]{wanted}<same>.",
    "wanted@unsure": "[I think|maybe|perhaps|probably|I'd say] {wanted}<same>[, if you have it|, if that exists|, if that's possible|].",
    "contrast": "[I'd like|I want|make it|I'd prefer|I need|let's say|it should be|please make {it}] {contrast}[, the rest can stay|, "
    "otherwise the same|, everything else as it is|].",
    "contrast@terse": "{contrast}.",
    "same": "[|||, otherwise the same|, the rest as before|, everything else the same|]",
    "other product": "[I'd [rather|prefer to|much rather] have|I'd like|could I get|I was thinking of|I'd take|can I have] {other}[ "
    "instead| in its place| for it|]<please>.",
    "payment": "[[please use|use|take|let's use|I'd like to use|put it on|charge|it can go on|I'd go with|I'd prefer|make it|let it be] "
    "{payment}|{payment}[, please| would be best| is fine| will do|, if that works]].",
    "payment@terse": "{payment}.",
    "refund": "[[please refund|send it to|put it back on|I'd like it on|back to|let it go to|it can go to|refund it to|I'd prefer] "
    "{payment}|{payment}[, please| would be best| is fine| will do|, if that works]].",
    "refund@terse": "[|to |back to ]{payment}.",
    "sold out": "[[oh|ah|hm|okay|pity|too bad|that's a shame|all right], |]",
    "alternative": "<sold out>[then I'll take|in that case|then|then make it|how about|let's say|I'd settle for|I can live with|I could "
    "do with|then let it be] {wanted}[|<same>|<please>].",
    "alternative@terse": "[then |OK, |fine, ]{wanted}.",
    "leave it": "[[no,|hm, no,|oh, then no,|in that case no,|thanks, but no,] [then leave it|let's leave it|leave everything as it is|I'd "
    "rather not|none of those is what I want|then I'd rather keep what I have|I don't want any other]|[then|in that case] [let's leave it|"
    "I'd rather leave it|please leave it as it is|I'll keep things as they are|forget about it]].",
    "leave it@terse": "[no, leave it|then leave it|no. leave it as it is|then forget it|never mind, leave it].",
    "other payment": "[[oh|I see|hm|all right|okay|right|too bad], |]then [please |][use|take|let's use|let's take|put it on|go with] "
    "{payment}.",
    "other payment@terse": "then {payment}.",
    "no longer needed": "[I don't need {it} [any more|after all|now]|I [just |simply |]no longer need {it}|{Itis} [no longer needed|not "
    "needed any more][, simple as that|]|[I was given|I got|somebody gave me|my parents gave me] the same [as a gift|for my birthday], so "
    "I don't need {it}|[my plans changed|the trip was called off|the party is off|we're moving abroad|I've found my old things again] and "
    "I [don't|no longer] need {it}|[the occasion|the birthday it was for] has [passed|come and gone], so it's no longer needed|my "
    "[partner|roommate] [bought|has|brought home] the same, so we don't need two].",
    "no longer needed@terse": "[no longer needed|don't need {it} any more|not needed any more|don't need {it} now|just don't need {it}].",
    "ordered by mistake": "[I [ordered|bought] {it} by [mistake|accident]|it was [an accident|a mistake], I [meant to only look|only "
    "wanted to save it|hit the wrong button|clicked too fast]|I ordered twice by [mistake|accident]|[my [son|daughter|nephew|toddler] "
    "ordered {it}|the cat walked over the keyboard and ordered {it}] by [accident|mistake]|I [pressed|hit|clicked] buy by mistake[ on my "
    "phone| in the wrong tab| half asleep|]|that was a mistake[ on my part|, sorry|], I [had the wrong tab open|mixed up two carts|never "
    "wanted {it}]].",
    "ordered by mistake@terse": "[ordered by mistake|ordered it by accident|it was a mistake|wrong click, a mistake|bought by accident].",
    "other reason": "[[well, |honestly, |to be honest, |it's simple: |the thing is, |because |]{reason}|the reason is that {reason}].",
    "other reason@terse": "{reason}.",
    "address": "[[it's|the new address is|please [send|ship] it to|it should [go|be sent] to|please use|that would be|make it|change it "
    "to|the address is|please put down] {address}|{address}[, please|]].",
    "address@terse": "[|new address: |to |it's ]{address}[.|]",
    "default": "[[it's|the new address is|the new one is|please [save|use|put down]|that would be|we live at|I live at|change it to|you "
    "can write] {address}|{address}[, please|]].",
    "default@terse": "[|new address: |it's ]{address}[.|]",
    "same address": "[please use <same one>|[it's|I mean|that would be] <same one><please>].",
    "same one": "[the same address[ again| as before| as for the order|]|the address I just gave you]",
    "tell topic": "[[it's|this is] about|it's to do with|it concerns] {topic}.",
    "tell email": "[my email is|my account is under|I'm registered under|you'll find me under|the email on my account is|my account email "
    "is] {email}.",
    "tell email@terse": "[email: |my account: |account: ]{email}",
    "tell name": "[my name is|I'm|this is|I'm in your system as] {first} {last}[, zip code|, and my zip is|, zip| and my zip code is] "
    "{zip}.",
    "tell payment": "[I'd like to [use|pay with]|please use|I'd pay with|it can go on|I'd want it on] {payment}.",
    "tell difference": "[for any difference, please use|please put any difference on|any difference can go on|if the price differs, use] "
    "{payment}.",
    "tell refund": "[I'd like the refund on|please refund|the refund can go to|please put the refund on|the money can go to] {payment}.",
    "tell address": "[please send it to|the new address is|it should go to|it needs to go to|it has to be sent to|I need it at] {address}.",
    "tell default": "[the new address is|I now live at|it should say|my new address is|the right one is|we're now at] {address}.",
    "topic": "[it's about|it's to do with|I'm here about|it concerns|the matter is|it's a question about|I have trouble with] {topic}.",
    "topic@terse": "[|about ]{topic}.",
}

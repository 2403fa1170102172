"""Templates of users' reactions: yes, no, second thoughts, refusals, thanks and goodbyes.

A `yes` satisfies `callmark.is_confirmation`; `decline`, `rethink` and their additions never do.
"""

from collections.abc import Mapping

YES: Mapping[str, str] = {  # the action after `please`, by kind of goal
    "cancel": "[cancel it|call it off|cancel that order|go on and cancel it|take it out of the system|have it cancelled]",
    "order address": "[send it there|ship it there|change the address|update the address|use that address|have it sent there|put that "
    "address on it]",
    "order items": "[make the change|change it|swap {it}|change the order|put that in the order|update the order|make that swap]",
    "order payment": "[switch the payment|change it over|use that one|make the switch|charge it like that|change the payment]",
    "default address": "[save it|save the new address|update my account|change it in my account|put it on my profile|store it like that]",
    "return": "[set up the return|start the return|take {it} back|book the return|return {it}|get the return going]",
    "exchange": "[make the exchange|set up the exchange|swap {it}|arrange the exchange|start the exchange|exchange {it}]",
}

PARTS: Mapping[str, str] = {
    "do": "[do that|do it]",
    "yes": "[[yes|yep|yeah|yes, indeed|correct|exactly|absolutely|definitely|confirmed|yes, confirmed|yes, that's right|yes, that's "
    "correct], [please |][go ahead|do that|do it|proceed|<do>|<do>|<do>][, thanks|, thank you| then| now|]|yes, [that's|this is|that "
    "sounds like] [exactly |just |]what I [want|need|had in mind|meant|asked for], [go ahead|please do|so please <do>|please <do>]|yes, "
    "[everything|all of that|it all|that] [is right|looks right|is correct|sounds right|looks good|checks out][. please <do>|, please "
    "<do>|, go ahead|. go ahead|]|[that's right|that's correct|all correct], please [<do>|go ahead|do that]|[please go ahead|go ahead][ "
    "and <do>|, I'm happy with that|, that's [right|fine] for me|]].",
    "yes@terse": "[yes|yep|yes, go ahead|go ahead|confirmed|correct|yes, do it|yes, <do>|right, go ahead|yes, correct|OK, go ahead|yes, "
    "proceed|do it].",
    "yes@polite": "[[yes|yes, of course|certainly|yes, indeed|absolutely|by all means], [please |kindly |][<do>|go ahead|proceed|do so][, "
    "thank you|, if you would||]|yes, [that is|this is] [quite |perfectly |exactly |]right, [please <do>|please go ahead|thank you]|[yes, "
    "I confirm|I confirm|yes, I agree][, please <do>|, please go ahead|. thank you for checking|, and thank you|]|yes, I would [like|be "
    "glad for] you to <do>].",
    "yes@chatty": "[[oh yes, yes|yes|oh yes|absolutely|yes, definitely|yes, lovely], [let's do that|please <do>|go for it|that's perfect, "
    "go ahead|that's the one, please <do>][! you're a star|! how exciting|, and thanks for checking|, my [partner|mother|sister] will be "
    "pleased|, what a relief|! wonderful|]|yes, you've got [it|all of it|everything] [exactly |]right, [so please <do>|go ahead]|yes, "
    "[sounds like a plan|sounds wonderful|that's how I want it], please <do>]!",
    "yes@impatient": "[[yes|yes, yes|yep|correct|confirmed], [just <do>|just do it|go ahead|<do> already|get on with it|do it now|please "
    "<do>][, thanks|, I have to go|]|yes, that's [what I said|right|it], [go ahead|<do>|please hurry]].",
    "yes@unsure": "[[yes|okay, yes|yes, I'm sure|alright, yes|yes, I think so], [please |][<do>|go ahead|let's do that|do it][, thank you|"
    " then|]|yes, [that|it all] [looks|sounds|seems] right[ to me|, as far as I can tell|, I'd say|][, please <do>|, go ahead|]|okay, "
    "yes, [I've thought about it|I'm fairly certain now|that's it], [go ahead|please <do>]].",
    "decline": "[[no|no, wait|hmm, no|oh, no|actually, no|no, thank you], [I've changed my mind|I'd rather not|let's leave it|leave it as "
    "it is|I've reconsidered|I don't want that after all|I'd better keep it as it is|that's not worth it][, sorry|. sorry for the trouble|"
    ". please don't change anything|, please leave everything as it is|. I'll think about it some more|]|[hmm|hold on|wait], [now that I "
    "see it written out|seeing the details|thinking about it|hearing that], [I'd rather not|no, leave it|I don't want to|let's not do "
    "it][ after all|][. leave it as it is|, sorry|]].",
    "decline@terse": "[no|no, leave it|not now, no|no, don't|no, changed my mind|no, better not][. leave it as it is|. don't change "
    "anything|].",
    "decline@polite": "[no, thank you, [I have reconsidered|I would rather leave it|I prefer to keep things as they are]|I am sorry, [I "
    "have changed my mind|I would rather not, after all]][. please leave everything as it is|. I apologize for the trouble|. please "
    "change nothing for now|].",
    "decline@impatient": "[no. [forget it|leave it|not like that|then I don't want it|drop it]|no, [then leave it|that's too complicated|"
    "not on those terms]][. don't change anything|. leave it as it is|].",
    "rethink": "[[wait|hold on|hang on|oh wait|one moment|hmm], [I've changed my mind|one change|I've thought of something|that's not "
    "quite it|I got that wrong|there's one thing]|actually, [I've changed my mind|I've reconsidered|one correction|let me change that]|on "
    "second thought, [not like that|I'd change something]|not yet, [I need to change something|there's one more thing|I got a detail "
    "wrong]|[sorry|oh sorry], not quite, [I made a mistake|I need to correct something|I'd like to change something]]",
    "rethink@terse": "[wait|hold on|not yet|one change|hang on|almost]",
    "rethink@impatient": "[wait|no, wait|hold on|stop, not yet][, one change|, that's wrong|, not like that|]",
    "rethink address": "<rethink>[:|.] [the right [address|one] is|please make it|it should be|it has to be|let's say|it needs to be] "
    "{address}[ instead|].",
    "rethink wanted": "<rethink>[:|.] [I'd rather have|make it|I'd prefer|let's take|I'd like|better] {wanted}[ instead||, after all|].",
    "rethink payment": "<rethink>[:|.] [I'd rather use|let's use|please use|make it|I'd prefer|better take] {payment}[ instead||, after "
    "all|].",
    "rethink added": "<rethink>[:|.] [please add|also include|I also want to send in|add|there's also|put in] {added}[ as well| too|, "
    "then it's {goods}|, so that's {goods} in all|].",
    "rethink left out": "<rethink>[:|.] [leave out|I'd rather keep|not|forget about|take out|I want to keep] {left}[ after all|][, so "
    "just {goods}|, only {goods}|: just {goods}, please].",
    "rethink both": "<rethink>[:|.] [make it|it should be|I mean|let's say] {goods}[ instead|, nothing else|, in the end|].",
    "thanks": "[thanks|thank you|great, thanks|perfect|great|good, thanks|wonderful|good to hear|very good|thanks for that|nice, thank "
    "you|excellent|that's [great|good|a relief]|that was [quick|easy]][!|.]",
    "thanks@terse": "[|thanks.|good.|great.|OK.|fine.|]",
    "thanks@polite": "[thank you [very much|so much|kindly|for that]|many thanks|that is very kind|much appreciated|thank you, that is a "
    "great help|how kind of you].",
    "thanks@chatty": "[oh, [brilliant|fantastic|lovely|wonderful|great]|you're [amazing|a star|so quick|a lifesaver]|that was [painless|"
    "quick|easier than I thought]|fantastic, [thank you|thanks] so much|yay, [thanks|thank you]|what a [relief|service]]!",
    "thanks@impatient": "[|fine.|good.|OK, good.|at last.|right.|great.]",
    "thanks@unsure": "[oh, good|okay, thanks|thank you, I think I understand|that's a relief|ah, okay|good, that worked then|oh, that was "
    "easy].",
    "informed": "[good to know|ah, I see|okay, that helps|that's helpful|thanks for checking|thanks, that answers it|all right, good to "
    "know|I see, thanks|right, thank you|okay, thanks for [looking|telling me|the details]|that's [what|all] I wanted to know|"
    "interesting, thanks].",
    "informed@terse": "[OK.|good to know.|I see.|thanks.|got it.|]",
    "informed@chatty": "[oh, good to know|ah, that's [interesting|what I hoped|good to hear]|lovely, that helps a lot|aha, I had no idea|"
    "see, I [should have asked sooner|was wondering about that]]!",
    "pity": "[that's a [pity|shame]|too bad|oh, too bad|I see, pity|hm, that's disappointing|oh well|well, it was worth a try|all right, "
    "I understand|okay, fair enough|ah, I was afraid of that|well, can't be helped|then I'll [have to |]live with it|understood, then "
    "I'll leave it|I had hoped for [more|better news]][, never mind|||].",
    "pity@terse": "[pity|OK|too bad|fine, then not|understood|I see|all right].",
    "pity@polite": "[I understand|that is a pity, but I understand|I see, thank you for [checking|explaining|trying]|thank you for "
    "looking into it|that is unfortunate, but thank you for your effort|of course, rules are rules].",
    "pity@chatty": "[oh no, what a [shame|pity]|ah well, you can't [win them all|have everything]|bummer, but [I get it|never mind|thanks "
    "for trying]|oh dear, I should have [asked sooner|thought of that earlier|read the rules]|well, that's life]!",
    "pity@impatient": "[great. [not|that's not] what I wanted to hear|seriously? fine|that's [annoying|ridiculous|not helpful]|fine, "
    "forget it|what a hassle|unbelievable. all right].",
    "pity@unsure": "[oh, okay|hm, I wasn't sure it would work|oh, I see, I didn't know that|okay, I suppose that makes sense|I thought it "
    "might be like that|ah, sorry, I wasn't aware].",
    "why not": "[[but why|why] [is that|is that so|isn't that possible|can't that be done|not|is it not possible]?|[can|could] you "
    "[explain|tell me] [why|why not|why that is|the reason]?|[what's|what is] the [reason|problem|idea behind that]?|is there [a "
    "particular|a good] reason for that?|how [come|so]?][ [I thought|I was told|I'm fairly sure|I'd have thought] [that was allowed|it "
    "would be simple|this works|it could be done].|]",
    "why not@terse": "[why|why not|how come|what's the reason|why is that]?",
    "why not@polite": "[may I ask [why|why that is|what the reason is|why it is not possible]?|would you mind [explaining|telling me] "
    "[why|the reason]?][ I would like to understand.| I only want to understand it.|]",
    "why not@impatient": "[why on earth not|and why not|why is that so hard|says who|what kind of rule is that]?[ I need a reason.| "
    "explain, please.|]",
    "no more": "[no|nope|no, thanks|no, thank you|nothing else|not today|nothing more|no, nothing]",
    "bye": "[bye|goodbye|take care|have a [good|nice|great] [day|evening|one|weekend|week]|bye for now|all the best|see you|cheers]",
    "goodbye": "[<no more>[, |. ][that's|that was|this was] [all|everything|it|all I needed|all I wanted][ for today| for now| from me|"
    "][. <grateful>|. <bye>|. <grateful>, <bye>]|<grateful>, [that's|that was] [all|everything|it][ for today| for now| from me|]. <bye>|"
    "[I'm|we're] [all set|done|good|fine] [now|for today|then], <grateful>. <bye>|<no more>, [I'm|we're] [all set|good|done][. <grateful>|"
    ", <grateful>|]].",
    "grateful": "[thanks|thank you|thanks a lot|many thanks|thanks for [your|the] help|thank you for [your|the] help|thanks for "
    "everything|I appreciate [it|the help|your help]|thanks again]",
    "goodbye anyway": "[<no more>, |][that's|that was] [all|it|everything][ then| for today|]. [thanks anyway|thanks for [looking|trying|"
    "your time|your patience]|bye|goodbye|have a good [day|evening]|thank you, bye].",
    "goodbye anyway@terse": "<goodbye>",
    "goodbye anyway@impatient": "<goodbye>",
    "goodbye anyway@polite": "[no, thank you, [that is|that was] [all|everything]|no, [I have nothing else|nothing further]]. [|thank you "
    "[for your time|for your patience|all the same|nevertheless]|goodbye|have a pleasant [day|evening]|good day to you].",
    "goodbye anyway@chatty": "[nope, that's [everything|all|the lot]|that's all [on my list|I had|for now]|no, that was it], [thanks "
    "anyway|thanks for trying|thank you all the same|never mind me]! [have a [lovely|nice|great] [day|evening|week]|take care|bye-bye|"
    "until next time]!",
    "goodbye@terse": "[no, that's all|that's all|nothing else|no|nope, done|all done|that was it|no, all good][. bye|. thanks|. thanks, "
    "bye|, thanks|. goodbye].",
    "goodbye@polite": "[no, thank you, [that is|that was] [all|everything|all I needed]|that [is|was] everything[, thank you|]|no, [I "
    "have nothing else|nothing further]]. [|I appreciate your [help|time|patience]|thank you for your [help|time|patience|kindness]|you "
    "have been [very |most |]helpful|goodbye|have a pleasant [day|evening]|I wish you a good day|good day to you].",
    "goodbye@chatty": "[nope, that's [everything|all|the lot]|no, you've [covered everything|done it all|sorted me out]|that's all [on my "
    "list|I had|for now]][, [thanks a million|thank you so much|you've been great|what a help you are]|]! [have a [lovely|wonderful|great|"
    "fabulous] [day|evening|weekend|week]|take good care|bye-bye|say hi to your colleagues|until next time|I'm off to [make dinner|walk "
    "the dog|have a coffee|water the plants]|enjoy your [day|evening|coffee break]]!",
    "goodbye@impatient": "[no. that's [all|it|everything]|no, [I'm done|that's it|finally done]|that's all, I [have to run|need to go|"
    "have to get back to work]|nothing else, I'm [late already|off]|done, [I have to go|got to go]][. bye|. thanks|, bye|. thanks, bye|. "
    "goodbye].",
    "goodbye@unsure": "[I think that's [all|everything|it]|no, I [don't think so|believe that was everything|can't think of anything "
    "else]|that should be [all|everything|it]][, [thanks|thank you]|, [thanks|thank you] for [your patience|bearing with me|explaining]|"
    "]. [bye|goodbye|have a nice day|take care][ then|].",
    "wait for them": "[[thanks|thank you|great|good|perfect|all right|okay], [I'll [wait|hold|stay here|hang on|be here]|I'm staying on]|"
    "I'll [wait|stay in the chat|stay here] then, [thanks|thank you]|[thanks|thank you] for [passing me on|your help|arranging that|"
    "connecting me]][. <bye>|].",
    "wait for them@terse": "[OK, thanks|thanks|good, I'll wait|OK, waiting|fine, I'll hold].",
    "wait for them@impatient": "[finally, thanks|good. I hope it's quick|at last, thank you|fine, I'll wait, but not long|OK. please "
    "hurry].",
    "not understood": "[[sorry|hm|hmm], I [don't follow|didn't get that|don't quite understand|am not sure what you mean]|I'm not sure I "
    "understand|[that's|that is] not [quite |really |]what I [asked|meant]|I think we're [talking past each other|misunderstanding each "
    "other]].",
    "give up": "[[I think|it seems|I'm afraid] [we're getting nowhere|this isn't working|we're going around in circles|this leads "
    "nowhere]|[let's|then let's] [leave it|stop|end it] here|I'll [try again|come back|contact you] [later|another day|another time] then|"
    "never mind, I'll [manage|sort it out|find another way]][. thanks anyway|. thank you for trying|. <bye>|. thanks for your time].",
    "give up@impatient": "[this is going nowhere|I don't have time for this|enough, I give up|that's a waste of time]. [bye|goodbye|I'm "
    "out|I'll try elsewhere].",
    "as I said": "[I [think I |][mentioned|said|told you] that [already|before]|you asked me that [already|before|a moment ago]|we had "
    "that already|I can only say it again].",
}

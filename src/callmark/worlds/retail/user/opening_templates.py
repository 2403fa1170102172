"""Templates of users' openings, transitions and repetitions, by style.

`ask` states a goal with the templates of `goal_templates`: `vp` is the action of the agent or the user (`cancel my order`), `my` an action
of the user if there is one, else `vp`.
"""

from collections.abc import Mapping

FRAMES: Mapping[str, str] = {
    "who": "[my partner|my sister|my mother|a friend|my roommate|a colleague|my brother|my aunt|my neighbor]",
    "hello": "[hi|hello|hey|hi there|hello there|good morning|good afternoon|good evening|hey there][,|.|!]",
    "hello@terse": "[|||hi.|hello.|hey,]",
    "hello@chatty": "[hi there|hello|hey|oh hi|hello there|good morning]! [|||||||I hope you're having a [good|nice|quiet|better] [day|"
    "morning|week][ so far|]|[glad|happy|so good] to [reach|catch] [someone|somebody|you][ at last| today|]|hope [all is well|you're well|"
    "your day is going fine]|[thanks|thank you] for [being there|taking my chat|picking this up]|what a [day|week] [this has been|it has "
    "been|I'm having]|it's [me|your forgetful customer] [again|once more]|me and my [shopping|orders|online shopping] again].",
    "hello@polite": "[good morning|good afternoon|good evening|hello|good day][,|.] [|||||I hope [you are well|this finds you well|I am "
    "not disturbing you].|thank you for [your time|taking this|helping].]",
    "hello@impatient": "[|||hi,|hello,|hey,|look,|okay,|right,|[I'm in a hurry|I don't have much time|I've only got [five|two|ten] "
    "minutes|this is urgent|quick one|let's make this quick|I'm between two meetings|my lunch break is nearly over].]",
    "hello@unsure": "[hi|hello|um, hi|hi there|hello there|hey][,|.] [|||||I'm [not very good at this|new to this|not sure where to ask|a "
    "bit lost here|not used to these chats].|I hope [this is the right place|I'm in the right place|you can help me].]",
    "tail": "[||||||| [can|could] you [help|assist][ me|][ with that| there| with this|]?| [what do you need from me|how do we go about "
    "that|how does that work]?| [thanks|thank you][ in advance| a lot| already|]!]",
    "tail@terse": "",
    "tail@polite": "[|||||| [thank you|many thanks|thanks][ in advance| for your help| very much|].| I would [really |very much |"
    "]appreciate [it|your help].| please tell me what you need[ from me|].]",
    "tail@impatient": "[|||||| [quickly|as quickly as you can|today|right away], please.| [what do you need|what else do you need|how "
    "long will that take]?| [I'd rather not wait|I can't wait long|let's get [it|this] over with].]",
    "tail@unsure": "[|||||| [or am I too late|or is it too late][ for that|]?| I don't know [how that works|what you need from me|what "
    "happens next].]",
    "tail@chatty": "[|||||| [you'd be doing me a [huge|big|real] favor|that would [really |]make my day|I'd be ever so grateful].| "
    "[fingers crossed|I hope that's no trouble|I hope it's not too much work]!| [can|could] you [sort|help with|look into] that?]",
    "want": "[I'd like|I want|I need|I would like|I'm looking|I was hoping|I'm trying|I have|I'm hoping|I'd love] to",
    "ask": "[<want> <my>[, please|, if possible|, if that's okay|||].|<want> <my>.|[can|could|would] you [[please |]<vp>|help me "
    "<my>]?|[is it|is it still|would it be|would it still be] possible to <my>?|[I need|I could use] [some|your|a bit of] help to "
    "<my>.|[can|could] I [still |]<my>?|how do I <my>?|please help me <my>.|what I [want|need|have in mind] is to <my>.]",
    "ask@terse": "[<vp>[, please|, thanks||].|[need|want|would like] to <my>.|[I need|I want|I'd like] to <my>[, please|].|[please|just] "
    "<vp>.|[can|could] you <vp>?|[can|could] I <my>?]",
    "ask@polite": "[[I would be|I'd be] [very |most |]grateful if you could <vp>.|would you be [so kind as|able] to <vp>?|[may|might|"
    "could] I [kindly |]ask you to <vp>?|I would [very much |]like to <my>, if [I may|it's no trouble|that is all right].|could you "
    "[please |kindly |possibly |]<vp>?|[if it isn't too much trouble|if I may], I'd like to <my>.|would you mind helping me <my>?]",
    "ask@impatient": "[I [need|have|want] to <my>[, and soon|, quickly please|, that's all|].|[just|please just|please] <vp>.|[can|could] "
    "you <vp>[ or not|]?|how [fast|quickly|soon] can you <vp>?|[all I want|all I need|what I need] is to <my>.]",
    "ask@unsure": "[I think I [want|need|would like] to <my>[, if that's possible|, if that still works|].|I'm not [quite |really |]sure "
    "[how to|whether I can|if I can] <my>.|[do you know|could you tell me] [if|whether] I [can|could] still <my>?|[maybe|perhaps] you "
    "[can|could] [help me <my>|<vp>]?|[would|might] it [perhaps |]be possible to <my>?|I was wondering [if|whether] I could [maybe |still |"
    "]<my>.]",
    "ask@chatty": "[I was [hoping|thinking|wondering if] you [could|might] <vp>[, you see|].|I'd [love|really like|be so glad] to <my>.|"
    "do you think you [could|can] <vp>[ for me|]?|[what|all] I'd [like|love] is to <my>.|[any chance|is there any chance] I can <my>?|"
    "[could|can] you [be an angel and |do me a favor and |please |]<vp>?]",
    "next": "[and then|then|next|also|one more thing|there's another thing|something else|while I'm here|another thing][: |, ]<ask>|"
    "[there's something else|there is one more thing|I have another one|that's not all|now for the other thing|on to the next]. [<ask>|"
    "<ask>|<ask> <why>]",
    "next@terse": "[also: |next: |and: |then: |second thing. |one more. |next one. ]<ask>",
    "next@polite": "[[if I may|if you have a moment], there is [one more thing|something else|another matter].|may I [add something|bring "
    "up another thing|mention something else]?|[I have|there is] [a further|another|one more] request.] <ask>",
    "next@chatty": "[[oh, and|ooh, and|right, and] while [I've got you|we're at it|you're here|I have you]: <ask>|[since|now that] you're "
    "so [quick|helpful|good at this], there's [another thing|something else|one more thing]. <ask>|there's more. <ask> <why>]",
    "next@impatient": "[next|right, next|okay, next|and now the other thing|second thing|moving on][: |. ]<ask>",
    "next@unsure": "[um, there's [one more thing|something else][, if you don't mind|]|[sorry, |]I [also have|have] another thing|there "
    "might be one more thing]. [<ask>|<ask>|<ask> <why>]",
    "instead": "[then|in that case|well, then|if so|all right, then][, | ]<ask>",
    "again": "[what I [mean|meant|need|am after|want] is this|let me [put it differently|say it another way|try again|rephrase]|in other "
    "words|to put it [simply|plainly]|it's [about this|like this]|maybe I wasn't clear]: <ask>",
    "in answer": "[||well, |okay, |so, |thanks, ][<ask>|<ask> <why>]",
    "in answer@terse": "<ask>",
}

QUESTION_FRAMES: Mapping[str, str] = {  # for goals that are questions
    "tail": "[||||||| [thanks|thank you][ in advance| a lot| already|]!]",
    "tail@terse": "",
    "tail@impatient": "[||||| [quickly|today|right away], please.| I can't wait long.]",
    "tail@unsure": "",
    "tail@chatty": "[||||| [I'd be ever so grateful|that would really help].]",
    "ask": "[<direct>|<direct>|[can|could|would] you tell me <wh>?|[[I'd like|I want|I need] to know|I was hoping to find out] <wh>.|[do "
    "you know|can you see|could you check] <wh>?|I'm [trying to find out|wondering] <wh>.]",
    "ask@terse": "[<direct>|<direct>|[need|want] to know <wh>.|tell me <wh>, please.]",
    "ask@polite": "[[could|would] you [kindly |please |]tell me <wh>?|[may|might] I ask <wh>?|I would [very much |]like to know <wh>, if "
    "you don't mind.|would you be so kind as to tell me <wh>?|I'd be grateful to know <wh>.]",
    "ask@impatient": "[<direct>|[just|please just] tell me <wh>.|I need to know <wh>.|all I want to know is <wh>.]",
    "ask@unsure": "[I'm not [quite |really |]sure <wh>.|[maybe|perhaps] you [can|could] tell me <wh>?|do you happen to know <wh>?|I was "
    "wondering <wh>.|I can't [work out|figure out|tell] <wh>.]",
    "ask@chatty": "[I've been wondering <wh>[, you see|].|do you happen to know <wh>?|[out of curiosity|tell me], <direct>|[I'd love|I'm "
    "curious] to know <wh>.]",
}

PERSONAL_FRAMES: Mapping[str, str] = {  # for goals in which the user acts
    **{name: phrase for name, phrase in QUESTION_FRAMES.items() if name.startswith("tail")},
    "ask": "[<want> <my>[, please|].|[can|could|may] I <my>[, please|]?|[is it|would it be] possible to <my>?|how can I <my>?|what I "
    "[want|need] is to <my>.|I wonder if I could <my>.]",
    "ask@terse": "[[need|want|would like] to <my>.|[I need|I want|I'd like] to <my>[, please|].|[can|could] I <my>?]",
    "ask@polite": "[[may|might|could] I [kindly |please |]<my>?|I would [very much |]like to <my>, if [I may|it's no trouble|that is all "
    "right].|would it be [at all |]possible to <my>?|I'd be grateful if I could <my>.]",
    "ask@impatient": "[I [need|want|have] to <my>.|[all I want|what I need] is to <my>.|when can I finally <my>?|look, I just want to "
    "<my>.]",
    "ask@unsure": "[I think I [need|would like] to <my>[, if that's possible|].|[could|can] I [maybe |perhaps |]<my>?|I was wondering [if|"
    "whether] I [can|could] <my>.|would it [perhaps |]be possible to <my>?]",
    "ask@chatty": "[I'd [love|really like] to <my>[, if that's all right|].|[any chance|is there any chance] I [can|could] <my>?|do you "
    "think I could <my>?|I was hoping to <my>.]",
}

OPENING_WITHOUT_GOAL = (  # by users who do not state their goal yet
    "<hello> [I [need|could use|would like] [some |a little |a bit of |]help with [an order|one of my orders|my account|something I "
    "bought].|there's [something|a thing] I'd like to [sort out|have sorted|get done].|I have [a request|a question|something to ask] "
    "about [my account|an order|one of my orders].|[can|could] you help me with [something|an order of mine|my account]?]"
)

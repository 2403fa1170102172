"""Templates of users' goals, by kind.

`vp` is the action of the agent or the user, `mine` an action of the user only; ` wanted` marks variants that name the replacement, ` part`
those about a part of the order; `why` is a backstory for any item (`backstory_templates` has those for certain products). Questions have
`wh`, the form after `tell me`, and `direct`, the question itself. `{order}` names an order ("my order #W1234567"), `{goods}` its items
("the blue running shoes from that order"); `{it}`, `{itis}`, `{itwas}`, `{itdoes}`, `{they}` (`it` or `they`), `{one}` and `{ones}` agree
with the subject of the goal.
"""

from collections.abc import Mapping

ACTIONS: Mapping[str, Mapping[str, str]] = {
    "cancel": {
        "vp": "[[cancel|undo|withdraw] {order}|call {order} off|stop {order}[ before it ships| from going out|]|cancel {order}]",
        "mine": "[get|have] {order} [cancelled|called off|stopped]",
        "vp part": "[[take|leave] {goods} out of {order}|[cancel|drop|remove|strike] [only |just |]{goods} [in|from] {order}|[cancel|"
        "drop] {goods} but keep the rest of {order}]",
        "mine part": "have {goods} [removed from|taken off|taken out of] {order}",
        "why": "[{itis} [hopefully |]not [packed|on its way|out of the door] yet|I hope {itis} not [packed|on its way|gone] yet|[I'd hate|"
        "I wouldn't want] {it} to [go out|be sent|be packed] first|there's no point in {it} [going out|being sent|being packed]].",
    },
    "order address": {
        "vp": "[[change|update|correct|fix|replace|edit] the [shipping|delivery] address [on|of|for] {order}|[have|get] {order} [sent|"
        "shipped|delivered] [somewhere else|to another address|to a different place|to a new address]|[send|ship|redirect|reroute] "
        "{order} to [another|a different|a new] address|switch the address on {order}]",
        "why": "[I'm [moving|staying with my parents|away for work|on a work trip|house-sitting for a friend|looking after my aunt's "
        "place] [this week|next week|for a while|until the end of the month|this month|from tomorrow on]|we've [just moved|moved house|"
        "changed apartments|moved into a new place|given up the old apartment]|[I won't be|nobody will be] [home|at home|at that address|"
        "there] [when {it} comes|to take {it}|when {it} arrives|to sign for {it}]|[I picked|I chose|the site filled in|my browser filled "
        "in|I left in] [my old|the wrong|an outdated|a previous|last year's] address[ by itself| without noticing|]|{itis} [a gift|a "
        "present|meant|a surprise] for [my sister|my brother|a friend|my mother|my dad|my niece|an old roommate], who lives [elsewhere|in "
        "another place|somewhere else|in another town]|parcels keep [getting lost|disappearing|being stolen|getting wet] at [my building|"
        "our door|our place]|my [neighbor|landlord|roommate|doorman] [can't take|won't be taking|has stopped taking] parcels [any more|"
        "this month|for me]].",
    },
    "order items": {
        "vp": "[[swap|change|switch|replace] {goods}|[exchange|swap] {goods} for [another version|a different version]]",
        "mine": "[get|pick|choose|have] a different version of {goods}",
        "vp wanted": "[[swap|exchange|change] {goods} for {wanted}|replace {goods} with {wanted}|[change|switch] {goods} to {wanted}]",
        "mine wanted": "[have|get|take] {wanted} [instead of|in place of|rather than] {goods}",
        "why": "[I [clicked|ticked|picked|selected|chose] the wrong [option|version|one][ in a hurry| on my phone| by accident| without "
        "my glasses|]|I've [changed my mind|had second thoughts|been thinking again] about what I [picked|chose|put in the cart]|<who> "
        "[talked me out of|pointed out a better choice than|shook their head at] what I picked|{itis} meant as a [gift|present|birthday "
        "present|surprise], and I [got the details wrong|picked badly|guessed wrong]|{itis} not [quite |really |]what I [had in mind|"
        "meant to order|was after]|I ordered [half asleep|in a rush|from the train|late at night|on my phone|over lunch] and [got it "
        "wrong|mixed things up]].",
    },
    "order payment": {
        "vp": "[[change|switch|update] [the payment on|the payment method for|the payment method on|the payment of] {order}|[put {order} "
        "on|move {order} to] [another|a different] payment method]",
        "mine": "[pay for {order} [differently|in another way|with something else]|use [another|a different] payment method for {order}|"
        "[change|switch] [how I pay for {order}|what I pay for {order} with]]",
        "why": "[I [used|picked|chose] the wrong [one|payment method|way to pay][ at checkout| by accident| when I ordered|]|what I used "
        "is [nearly at its limit|shared with my partner|meant for work|meant for other things|for business only]|I'm trying to keep [my "
        "budget|my accounts|my spending] [tidy|in order|apart]|my [bank|partner|accountant] [asked me to|would prefer that I] [use "
        "another one|pay differently]|the checkout [chose|took|went for] my [default|usual one|first one] [by itself|without asking]].",
    },
    "default address": {
        "vp": "[[change|update|correct|replace|edit] the [default |]address [in|on] my [account|profile]|[put|set|save] a new [default |"
        "home |]address [in|on] my [account|profile]|[bring|get] the address [in|on] my [account|profile] up to date|update [my default "
        "address|my home address on file|the address you have for me|the address on file]]",
        "why": "[we've [just moved|moved house|moved into a new apartment|moved across town|finally moved|bought a house]|I [moved|"
        "relocated] [last month|last week|recently|a few weeks ago|for a new job|for work|over the summer|to be closer to family]|I have "
        "a new [address|home|place|apartment][ now| since recently|]|what you have [is old|is out of date|is no longer right|isn't mine "
        "any more]|my [lease ran out|studies are over|job moved], so I've [changed towns|changed homes|moved]|after the [wedding|move|"
        "renovation] we live [elsewhere|somewhere new|at another place]].",
    },
    "return": {
        "vp": "[arrange|set up|start] [a return for|the return of] {goods}",
        "yours": "[refund {goods}|take {goods} back]",
        "mine": "[return {goods}|send {goods} back|return {goods}|bring {goods} back][ for a refund| and get my money back||]|[get a "
        "refund for|get my money back for] {goods}|have you take {goods} back",
        "why": "[<who> [gave me|had already bought me|surprised me with] {one}[ last week| just now| out of the blue|]|{itwas} meant for "
        "a [birthday|party|trip|visit|holiday] that [was called off|fell through|isn't happening]|I [have no use for|can't use|never use|"
        "hardly use] {it}|{itis} not [quite |really |]what I [expected|had in mind|imagined|was hoping for]|{itis} still in the box, "
        "[unused|unopened|untouched]|I [ordered|bought] {it} [on a whim|on impulse|without thinking|after a bad day]].",
        "why early": "[I've [changed my mind|had second thoughts] about {it}|I [have no use for|won't be using|don't want] {it}|I "
        "[ordered|bought] {it} [on a whim|on impulse|without thinking|after a bad day]].",
    },
    "exchange": {
        "vp": "[[exchange|swap] {goods}|[exchange|swap] {goods} for [another version|a different version|another kind]|arrange an "
        "exchange for {goods}]",
        "mine": "[[get|have] {goods} [exchanged|swapped]|trade {goods} for [another version|something closer to what I wanted]|exchange "
        "{goods}]",
        "vp wanted": "[exchange|swap|switch] {goods} for {wanted}",
        "mine wanted": "[[exchange|trade] {goods} for {wanted}|[have|get] {wanted} [instead of|in exchange for|in place of] {goods}|"
        "return {goods} and [get|take|have] {wanted}]",
        "why": "[I [picked|chose|ordered|clicked] the wrong [one|version|option][ back then| when I ordered| without noticing|]|my order "
        "came [the other day|this week|a few days ago|recently], and {itis} [not quite right|nearly right, but not quite|not what I had "
        "in mind]|<who> [prefers|would rather have|says I should get|recommended] [another version|a different one|the other kind]|{itis} "
        "a [gift|present|birthday present], and [I guessed wrong|it wasn't quite a hit|I picked badly]|now that I [see|have] {it} at "
        "home, I'd [rather have|prefer] another version|I've [changed my mind|had second thoughts] [since|about the details|about my "
        "choice]].",
    },
}

QUESTIONS: Mapping[str, Mapping[str, str]] = {
    "product question": {
        "why": "[I'm [thinking of|thinking about|toying with the idea of|considering] [buying|getting|ordering] {one}|<who> [says I "
        "should get|told me to get|keeps telling me to get|thinks I need] {one}|I'm [looking for|after|choosing] a [gift|present|birthday "
        "present] for [my dad|my sister|a friend|my nephew|my partner]|[it's for|this is for] [a trip|my new place|a birthday|the "
        "office]].",
    },
    "options": {
        "wh": "[what [options|choices|versions] there are of the {product}|[which|what] [versions|variants|kinds] of {products} you [sell|"
        "have|carry]|what the {product} {comes} in|what I can choose [between|from] with the {product}]",
        "direct": "[what [options|choices|versions] are there [for|of] the {product}?|[which|what] [variants|kinds|versions] of "
        "{products} do you [sell|have|carry]?|what {does} the {product} come in?]",
    },
    "count": {
        "wh": "[how many [different |][versions|variants|kinds] of {products} [you have|you sell|there are]|how big your choice of "
        "{products} is]",
        "direct": "[how many [different |][versions|variants|kinds] of {products} [do you have|do you sell|are there]?|how big is your "
        "choice of {products}?]",
    },
    "cheapest": {
        "wh": "[what the [cheapest|least expensive|most affordable] {product} [is|would cost me]|how much the cheapest {product} you have "
        "[costs|is]|which {product} [has the lowest price|is the cheapest]]",
        "direct": "[what's the [cheapest|least expensive|most affordable] {product} [you have|you sell|right now]?|how much is the "
        "cheapest {product}?|which {product} has the lowest price?]",
    },
    "available": {
        "wh": "[if|whether] [[you have|you've got] {version} [in stock|right now|at the moment|]|I can get {version} [right now|at the "
        "moment|]]",
        "direct": "[[do you have|have you got] {version}[ in stock| at the moment| right now|]|can I get {version}[ at the moment| right "
        "now|]]?",
    },
    "order status": {
        "why": "[I [lost|deleted|can't find] the [confirmation|confirmation email|email about it]|there was no [email|message] [about it|"
        "from you]|I want to [be sure|check] that [everything is right|it's all correct|nothing is wrong]].",
        "why status": "[I haven't heard [anything|a thing] [since I ordered|for a while|about it]|[I'm|we're] [leaving|travelling|going "
        "away] [soon|next week|on Friday|in a few days]|[I'm|my son is|my mother is|my roommate is] [getting curious|asking about it "
        "every day]|there was no [email|message|update] [about it|from you] [so far|yet|lately]|I [lost|deleted|can't find] the "
        "[confirmation|confirmation email]].",
    },
    "status": {
        "wh": "[where {order} is|what's happening with {order}|what the status of {order} is|how far along {order} is|how {order} is "
        "coming along]",
        "direct": "[where is {order}[ right now|]?|what's [happening|going on] with {order}?|what's the status of {order}?|how far along "
        "is {order}?|has {order} shipped yet?]",
    },
    "items": {
        "wh": "[what [exactly |]is in {order}|what I [bought|got] [in|with] {order}|which items are in {order}]",
        "direct": "[what [exactly |]is in {order}?|what did I [buy|get] [in|with] {order}?|which items are in {order}?]",
    },
    "address": {
        "wh": "[where {order} is [going|being sent]|which address {order} goes to|what address is on {order}]",
        "direct": "[where is {order} [going|being sent]?|which address does {order} go to?|what address is on {order}?]",
    },
    "payment": {
        "wh": "[how {order} was paid|what I paid [for |]{order} with|which card or account {order} was charged to]",
        "direct": "[how was {order} paid?|what did I pay for {order} with?|which card or account was {order} charged to?]",
    },
    "price question": {
        "why": "[I'm [sorting out|going through|working on] my [budget|accounts|spending|books][ this month|]|my [partner|accountant|boss|"
        "roommate] [wants to know|asked me][ about it|]|I'm [sharing the cost|splitting the bill] with [a friend|my sister|my roommate]|I "
        "[can't find|lost|deleted] the [invoice|receipt|confirmation]|I want to [compare|be sure] before I [decide|do anything]].",
    },
    "refund": {
        "wh": "[how much I would get back for {goods}|what the refund for {goods} would be|how much money I'd get for returning {goods}]",
        "direct": "[how much would I get back for {goods}?|what would the refund for {goods} be?|if I sent back {goods}, what would I "
        "get?]",
    },
    "total": {
        "wh": "[what {order} comes to in total|how much {order} was altogether|what I paid for everything in {order}|the total of {order}]",
        "direct": "[what does {order} come to in total?|how much was {order} altogether?|what's the total of {order}?]",
    },
    "difference": {
        "wh": "[how much more or less [another version|a different version] of {goods} would be|what the price difference would be if I "
        "[changed|swapped] {goods}]",
        "direct": "[what would be the price difference if I [changed|swapped] {goods}?|how much more or less would another version of "
        "{goods} be?]",
        "wh wanted": "[how much more or less {wanted} would be than {goods}|what the price difference between {goods} and {wanted} is|"
        "what I'd [pay|save] if I [took|got] {wanted} [instead of|rather than] {goods}]",
        "direct wanted": "[what's the price difference between {goods} and {wanted}?|how much more or less would {wanted} be than "
        "{goods}?|what would it cost me to have {wanted} instead of {goods}?]",
    },
}

OTHERS: Mapping[str, Mapping[str, str]] = {
    "human": {
        "vp": "[[speak|talk] [to|with] [a real person|a human|someone from your team|a human agent|a person|a member of staff|one of your "
        "colleagues]|be [put through|connected|transferred] to [a person|a human agent|a real person|one of your people]]",
        "why": "[it's [complicated|a long story|a bit delicate|hard to explain in writing]|I'd [rather|prefer to] explain it to a person|"
        "[chats like this|automatic answers] [never work for me|don't get me anywhere]].",
    },
    "beyond scope": {
        "vp": "[get [some |]help with|get an answer about|get some advice on] {topic}",
        "why": "[I [couldn't|could not] [find|see] [anything|a button|a form] [for it|for that|about it] on [the website|your site]|"
        "[somebody|a friend|a colleague] [said|told me] you [might be able to help|would know]|I [thought|figured] I'd [just |]ask].",
    },
    "other customer": {
        "vp": "[[look up|check on|look into] {whose}'s order {order}|[find out|hear] [about|what's going on with] {whose}'s order {order}|"
        "check the order of {whose}, {order}|get [news|information] about {order}, the order of {whose}]",
        "why": "[{Whose} [asked me to|can't do it just now|is away this week|has no time for it]|I'm [doing|asking] this for {whose}|it's "
        "not mine, it's {whose}'s].",
    },
}

; The household of ALFWorld for one agent, in the vocabulary of the ALFRED domain, with its observable behaviour.
; "checked" is not read by anything: it gives commands that only look an effect, so that planners keep them.
(define (domain alfred)
  (:requirements :adl :action-costs :typing)

  (:types agent location receptacle object rtype otype)

  (:predicates
    ; places
    (atLocation ?a - agent ?l - location)
    (receptacleAtLocation ?r - receptacle ?l - location)
    (objectAtLocation ?o - object ?l - location)
    ; receptacles
    (receptacleType ?r - receptacle ?t - rtype)
    (canContain ?rt - rtype ?ot - otype)
    (openable ?r - receptacle)
    (opened ?r - receptacle)
    (inReceptacle ?o - object ?r - receptacle)
    (checked ?x)
    ; objects
    (objectType ?o - object ?t - otype)
    (isReceptacleObject ?o - object)
    (inReceptacleObject ?inner - object ?outer - object)
    (pickupable ?o - object)
    (cleanable ?o - object)
    (heatable ?o - object)
    (coolable ?o - object)
    (toggleable ?o - object)
    (sliceable ?o - object)
    (isClean ?o - object)
    (isHot ?o - object)
    (isCool ?o - object)
    (isOn ?o - object)
    (isToggled ?o - object)
    (isSliced ?o - object)
    ; hands
    (holds ?a - agent ?o - object)
    (holdsAny ?a - agent)
  )

  (:functions (total-cost) - number)

  (:action look
    :parameters (?a - agent ?l - location)
    :precondition (atLocation ?a ?l)
    :effect (checked ?l)
  )

  (:action inventory
    :parameters (?a - agent)
    :precondition ()
    :effect (checked ?a)
  )

  (:action help
    :parameters (?a - agent)
    :precondition ()
    :effect (checked ?a)
  )

  (:action examineReceptacle
    :parameters (?a - agent ?r - receptacle)
    :precondition (exists (?l - location) (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l)))
    :effect (checked ?r)
  )

  ; Only what is in hand can be examined.
  (:action examineObject
    :parameters (?a - agent ?o - object)
    :precondition (holds ?a ?o)
    :effect (checked ?o)
  )

  (:action GotoLocation
    :parameters (?a - agent ?lStart - location ?lEnd - location ?r - receptacle)
    :precondition (and (atLocation ?a ?lStart) (receptacleAtLocation ?r ?lEnd))
    :effect (and (not (atLocation ?a ?lStart)) (atLocation ?a ?lEnd) (increase (total-cost) 1))
  )

  (:action OpenObject
    :parameters (?a - agent ?l - location ?r - receptacle)
    :precondition (and (openable ?r) (not (opened ?r)) (atLocation ?a ?l) (receptacleAtLocation ?r ?l))
    :effect (and (opened ?r) (checked ?r) (increase (total-cost) 1))
  )

  (:action CloseObject
    :parameters (?a - agent ?l - location ?r - receptacle)
    :precondition (and (openable ?r) (opened ?r) (atLocation ?a ?l) (receptacleAtLocation ?r ?l))
    :effect (and (not (opened ?r)) (increase (total-cost) 1))
  )

  (:action PickupObject
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
    :precondition (and
      (pickupable ?o)
      (not (holdsAny ?a))
      (atLocation ?a ?l)
      (receptacleAtLocation ?r ?l)
      (inReceptacle ?o ?r)
      (or (opened ?r) (not (openable ?r)))
    )
    :effect (and
      (holds ?a ?o)
      (holdsAny ?a)
      (not (inReceptacle ?o ?r))
      (not (objectAtLocation ?o ?l))
      (increase (total-cost) 1)
    )
  )

  (:action PutObject
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle ?ot - otype ?rt - rtype)
    :precondition (and
      (holds ?a ?o)
      (atLocation ?a ?l)
      (receptacleAtLocation ?r ?l)
      (or (opened ?r) (not (openable ?r)))
      (objectType ?o ?ot)
      (receptacleType ?r ?rt)
      (canContain ?rt ?ot)
    )
    :effect (and
      (inReceptacle ?o ?r)
      (objectAtLocation ?o ?l)
      (not (holds ?a ?o))
      (not (holdsAny ?a))
      (increase (total-cost) 1)
    )
  )

  (:action CleanObject
    :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
    :precondition (and
      (cleanable ?o)
      (or (receptacleType ?r SinkBasinType) (receptacleType ?r SinkType))
      (holds ?a ?o)
      (atLocation ?a ?l)
      (receptacleAtLocation ?r ?l)
    )
    :effect (and (isClean ?o) (increase (total-cost) 5))
  )

  (:action HeatObject
    :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
    :precondition (and
      (heatable ?o)
      (receptacleType ?r MicrowaveType)
      (holds ?a ?o)
      (atLocation ?a ?l)
      (receptacleAtLocation ?r ?l)
    )
    :effect (and (isHot ?o) (not (isCool ?o)) (increase (total-cost) 5))
  )

  (:action CoolObject
    :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
    :precondition (and
      (coolable ?o)
      (receptacleType ?r FridgeType)
      (holds ?a ?o)
      (atLocation ?a ?l)
      (receptacleAtLocation ?r ?l)
    )
    :effect (and (isCool ?o) (not (isHot ?o)) (increase (total-cost) 5))
  )

  ; isToggled stays once set; isOn flips.
  (:action ToggleObject
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
    :precondition (and
      (toggleable ?o)
      (inReceptacle ?o ?r)
      (atLocation ?a ?l)
      (receptacleAtLocation ?r ?l)
    )
    :effect (and
      (isToggled ?o)
      (when (isOn ?o) (not (isOn ?o)))
      (when (not (isOn ?o)) (isOn ?o))
      (increase (total-cost) 5)
    )
  )

  (:action SliceObject
    :parameters (?a - agent ?l - location ?co - object ?ko - object)
    :precondition (and
      (sliceable ?co)
      (or (objectType ?ko KnifeType) (objectType ?ko ButterKnifeType))
      (holds ?a ?ko)
      (atLocation ?a ?l)
      (objectAtLocation ?co ?l)
    )
    :effect (and (isSliced ?co) (increase (total-cost) 5))
  )
)

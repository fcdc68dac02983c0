/* One plan, its approvals, its steps and their attempts: what DESIGN promises, checked in every interleaving.

   Each `atomic` is one transaction of storage/. Time is a choice: a lease or a permit may lapse at any moment,
   a process may die at any moment. Assumed: an effect is one instant, workers look at their fence in that instant
   (a command that outlives its lease is killed by workers/commands/process.py), and a person who is asked what became of an
   unknown step looks first and tells the truth.

   Each seeded bug (-DBUG_…) takes one guard away; Spin must find what that guard is for.            spin 6.5 */

mtype = { none, planning, proposed, approved, stalled, done, rejected, expired, cancelled,
          pending, running, succeeded, failed, unknown, skipped }

/* The tables of moves. tests/invariants/test_formal_model.py compares them with storage/contract/states.py. */
#define MAY_plan_propose  (plan == planning)
#define DO_plan_propose   plan = proposed
#define MAY_plan_amend    (plan == proposed)
#define DO_plan_amend     plan = proposed
#define MAY_plan_approve  (plan == proposed)
#define DO_plan_approve   plan = approved
#define MAY_plan_reject   (plan == proposed)
#define DO_plan_reject    plan = rejected
#define MAY_plan_expire   (plan == proposed)
#define DO_plan_expire    plan = expired
#define MAY_plan_revise   (plan == proposed || plan == approved || plan == stalled)
#define DO_plan_revise    plan = planning
#define MAY_plan_stall    (plan == planning || plan == approved)
#define DO_plan_stall     plan = stalled
#define MAY_plan_answer   (plan == stalled)
#define DO_plan_answer    plan = approved
#define MAY_plan_cancel   (plan == planning || plan == proposed || plan == approved || plan == stalled)
#define DO_plan_cancel    plan = cancelled
#define MAY_plan_postpone (plan == approved)
#define DO_plan_postpone  plan = approved
#define MAY_plan_finish   (plan == approved)
#define DO_plan_finish    plan = done

#define MAY_step_claim(s)    (step[s] == pending)
#define DO_step_claim(s)     step[s] = running
#define MAY_step_succeed(s)  (step[s] == running || step[s] == unknown)
#define DO_step_succeed(s)   step[s] = succeeded
#define MAY_step_fail(s)     (step[s] == running || step[s] == unknown || step[s] == pending)
#define DO_step_fail(s)      step[s] = failed
#define MAY_step_lose(s)     (step[s] == running)
#define DO_step_lose(s)      step[s] = unknown
#define MAY_step_retry(s)    (step[s] == running || step[s] == unknown || step[s] == failed)
#define DO_step_retry(s)     step[s] = pending
#define MAY_step_skip(s)     (step[s] == pending || step[s] == failed)
#define DO_step_skip(s)      step[s] = skipped
#define MAY_step_confirm(s)  (step[s] == failed)
#define DO_step_confirm(s)   step[s] = succeeded
#define MAY_step_cancel(s)   (step[s] == running)
#define DO_step_cancel(s)    step[s] = cancelled

/* The plan: PREPARE (repeat-safe, asks after a failure), then DEPLOY (unsafe, rolls back), and UNDO of DEPLOY. */
#define PREPARE  0
#define DEPLOY   1
#define UNDO     2
#define STEPS    3
#define UNSAFE(s)   (s == DEPLOY)
#define PERMITS(s)  (s != UNDO)       /* a rollback needs no permit */
#define TARGET(s)   (s != PREPARE)    /* DEPLOY and UNDO hold the target */

#define NOBODY   0
#define OTHERS   9                    /* another plan holds the target */
#define PEOPLE   3

/* The whole is large. Two cuts through it are small: -DDECIDING (edits, cards, quorum; each step is claimed once,
   and nobody dies) and -DRUNNING (one revision, one approver; two workers, each step claimed again and again). */
#ifdef DECIDING
#define DIES       false
#define NEEDED     2
#define REVISIONS  2
#define CLAIMS     1
#endif
#ifdef RUNNING
#define NEEDED     1
#define REVISIONS  1
#ifndef CLAIMS
#define CLAIMS     2
#endif
#endif
#ifndef DIES
#define DIES       true
#endif
#ifndef NEEDED
#define NEEDED     2
#define REVISIONS  2
#define CLAIMS     2
#endif

mtype plan = planning;
byte  revision;                       /* the current one */
bool  by_first;                       /* person 0 edited it, so is its author */
byte  yes[PEOPLE];                    /* the revision each person approved */
bool  entitled = true;                /* the approvers still may */

mtype step[STEPS] = none;
byte  attempt[STEPS];                 /* the fence */
bool  permit[STEPS];
bool  chose_skip;                     /* a person said: without PREPARE */
bool  rolling;
byte  target = NOBODY;                /* who holds it: a step's number + 1, or OTHERS */

/* Ghosts: what really happened outside. */
byte  effects[STEPS];                 /* of each step of this revision */
bool  stale_permit;                   /* a permit given to people who may no longer */

#define GIVEN      ((yes[0] == revision) + (yes[1] == revision) + (yes[2] == revision))
#define BUSY(s)    (step[s] == running || step[s] == unknown)
#define NOTHING_BUSY  (!BUSY(PREPARE) && !BUSY(DEPLOY) && !BUSY(UNDO))
#define OPEN       (plan == planning || plan == proposed || plan == approved || plan == stalled)

/* The guards. A seeded bug takes one away. */
#ifdef BUG_CLICK_NOT_BOUND
#define BOUND true
#else
#define BOUND (shown == revision)   /* a click counts for the revision that was read */
#endif
#ifdef BUG_AUTHOR_APPROVES
#define NOT_OWN true
#else
#define NOT_OWN (!(by_first && me == 0))   /* authors do not approve */
#endif
#ifdef BUG_NO_QUORUM
#define QUORUM true
#else
#define QUORUM (GIVEN >= NEEDED)   /* it takes so many people */
#endif
#ifdef BUG_NO_PERMIT
#define PERMITTED true
#else
#define PERMITTED permit[DEPLOY]   /* a changing step needs a permit */
#endif
#ifdef BUG_PERMIT_UNCHECKED
#define ENTITLED true
#else
#define ENTITLED entitled   /* which is given while the approvers may */
#endif
#ifdef BUG_DEPENDENCY
#define READY true
#else
#define READY (step[PREPARE] == succeeded || chose_skip)   /* a step waits for what it depends on */
#endif
#ifdef BUG_NO_FENCE
#define FENCED true
#else
#define FENCED (attempt[s] == mine && rev == revision)   /* whoever lost a step does not act */
#endif
#ifdef BUG_ACTS_WHILE_UNKNOWN
#define LEASED BUSY(s)
#else
#define LEASED (step[s] == running)   /* nor who is slow, while a person looks what became of it */
#endif
#ifdef BUG_LATE_REPORT
#define CURRENT true
#else
#define CURRENT (attempt[s] == mine && rev == revision)   /* and a late report changes nothing */
#endif
#ifdef BUG_UNKNOWN_FREES_TARGET
#define KEEPS false
#else
#define KEEPS true   /* an unknown step keeps its target */
#endif
#ifdef BUG_RERUN_UNSAFE
#define SURE true
#else
#define SURE false   /* no timer runs an unsafe step again */
#endif
#ifdef BUG_CANCEL_WHILE_RUNNING
#define CALM true
#else
#define CALM NOTHING_BUSY   /* a plan ends when nothing of it runs or is unknown */
#endif

inline skip_pending() {
  if :: MAY_step_skip(PREPARE) && step[PREPARE] == pending -> DO_step_skip(PREPARE) :: else fi;
  if :: MAY_step_skip(DEPLOY) && step[DEPLOY] == pending -> DO_step_skip(DEPLOY) :: else fi;
  if :: MAY_step_skip(UNDO) && step[UNDO] == pending -> DO_step_skip(UNDO) :: else fi
}

inline bear() {                       /* steps are born by an approval, and none with a permit */
  if
  :: step[PREPARE] == succeeded -> skip          /* it stands in the new revision as it was, and does not run again */
  :: step[PREPARE] = pending; attempt[PREPARE] = 0; effects[PREPARE] = 0
  fi;
  if
  :: step[DEPLOY] == succeeded -> skip
  :: step[DEPLOY] = pending; attempt[DEPLOY] = 0; effects[DEPLOY] = 0
  fi;
  step[UNDO] = none; attempt[UNDO] = 0; effects[UNDO] = 0;
  permit[PREPARE] = false; permit[DEPLOY] = false; stale_permit = false;
  chose_skip = false; rolling = false
}

inline free(s) {
  if :: target == s + 1 -> target = NOBODY :: else fi
}

/* What follows from the steps (storage/contract/states.py settle); inside the transaction that ended one. */
inline settle() {
  if
  :: !NOTHING_BUSY -> skip
  :: else ->
    if
    :: plan != approved -> skip
    :: else ->
      if
      :: rolling && step[UNDO] == succeeded -> DO_plan_finish
      :: rolling && step[UNDO] == failed -> DO_plan_stall
      :: !rolling && step[DEPLOY] == failed && attempt[DEPLOY] > 0 ->
           skip_pending(); rolling = true; step[UNDO] = pending
      :: !rolling && step[DEPLOY] == failed && attempt[DEPLOY] == 0 -> DO_plan_finish
      :: !rolling && step[DEPLOY] != failed && step[PREPARE] == failed -> DO_plan_stall
      :: !rolling && step[PREPARE] == cancelled -> skip_pending(); DO_plan_finish
      :: !rolling && step[DEPLOY] == succeeded && (step[PREPARE] == succeeded || chose_skip) ->
           if
           :: revision < REVISIONS && MAY_plan_stall -> DO_plan_stall                      /* it continues */
           :: MAY_plan_finish -> DO_plan_finish
           fi
      :: else -> skip
      fi
    fi
  fi;
  assert(OPEN || NOTHING_BUSY)        /* an ended plan has nothing running and nothing unknown */
}

active proctype Planner() {
  do
  :: atomic { MAY_plan_propose && revision < REVISIONS ->
       assert(NOTHING_BUSY); revision++; by_first = false; DO_plan_propose }
  :: atomic { MAY_plan_stall && plan == planning -> DO_plan_stall }
  :: atomic { MAY_plan_amend && revision < REVISIONS ->          /* person 0 edits */
       revision++; by_first = true; DO_plan_amend }
  :: atomic { MAY_plan_revise && (plan != approved || !rolling) && revision < REVISIONS && NOTHING_BUSY ->
       skip_pending(); DO_plan_revise }
  :: atomic { MAY_plan_reject -> DO_plan_reject }
  :: atomic { MAY_plan_expire -> DO_plan_expire }
  :: atomic { MAY_plan_cancel && CALM ->
       skip_pending(); DO_plan_cancel; assert(NOTHING_BUSY) }
  :: atomic { MAY_plan_postpone && !rolling && step[DEPLOY] == pending && permit[DEPLOY] ->
       permit[DEPLOY] = false; DO_plan_postpone }                /* later: rows and approvals stay, a permit does not */
  :: atomic { MAY_plan_answer && step[PREPARE] == failed && !rolling && step[DEPLOY] == pending && NOTHING_BUSY ->
       if
       :: attempt[PREPARE] < CLAIMS -> DO_step_retry(PREPARE); DO_plan_answer
       :: DO_step_skip(PREPARE); chose_skip = true; DO_plan_answer
       :: MAY_step_confirm(PREPARE) -> DO_step_confirm(PREPARE); DO_plan_answer
       :: DO_plan_answer; skip_pending(); DO_plan_finish         /* abort */
       fi }
  :: atomic { MAY_plan_answer && rolling && step[UNDO] == failed && NOTHING_BUSY ->
       if
       :: attempt[UNDO] < CLAIMS -> DO_step_retry(UNDO); DO_plan_answer
       :: DO_plan_answer; DO_plan_finish
       fi }
  :: atomic { MAY_plan_answer && !rolling && step[DEPLOY] == succeeded && NOTHING_BUSY ->
       DO_plan_answer; DO_plan_finish }                          /* it continued, and the goal is reached */
  :: !OPEN -> break
  od
}

/* A person reads a card, and clicks later: the plan may have been edited meanwhile. */
proctype Person(byte me) {
  byte shown;
  do
  :: atomic { plan == proposed -> shown = revision }
  :: atomic { shown > 0 ->
       if
       :: MAY_plan_approve && entitled && BOUND && NOT_OWN && yes[me] != revision ->
          assert(shown == revision);                              /* a yes is to what was read */
          assert(!(by_first && me == 0));                         /* and never to one's own work */
          yes[me] = revision;
          if
          :: QUORUM -> bear(); DO_plan_approve; settle()
          :: else -> skip
          fi
       :: else -> skip
       fi;
       shown = 0 }
  :: !OPEN -> break
  od
}

/* The bot: fresh permits while the approvers may. */
proctype Bot() {
  do
  :: atomic { plan == approved && ENTITLED && step[PREPARE] == pending && !permit[PREPARE] -> permit[PREPARE] = true }
  :: atomic { plan == approved && ENTITLED && step[DEPLOY] == pending && !permit[DEPLOY] ->
       permit[DEPLOY] = true; stale_permit = !entitled }
  :: !OPEN -> break
  od
}

/* And the world that takes both away. */
proctype World() {
  do
  :: atomic { permit[DEPLOY] -> permit[DEPLOY] = false; stale_permit = false }      /* a minute has passed */
  :: atomic { entitled -> entitled = false }                      /* an approver leaves */
  :: atomic { target == NOBODY -> assert(!BUSY(DEPLOY) && !BUSY(UNDO)); target = OTHERS }
  :: atomic { target == OTHERS -> target = NOBODY }
  :: !OPEN -> break
  od
}

/* A workers process: claims, may die at any point, acts, reports. Dying is forgetting the claim. */
proctype Worker() {
  byte s, mine, rev;                  /* a claim: the step, its attempt, its revision */
  do
  :: atomic { mine == 0 && plan == approved && step[DEPLOY] != unknown && step[UNDO] != unknown ->
       if
       :: MAY_step_claim(PREPARE) && permit[PREPARE] -> s = PREPARE
       :: MAY_step_claim(DEPLOY) && target == NOBODY && PERMITTED && READY -> s = DEPLOY
       :: rolling && MAY_step_claim(UNDO) && target == NOBODY -> s = UNDO
       :: else -> s = STEPS
       fi;
       if
       :: s < STEPS && attempt[s] < CLAIMS ->
            assert(GIVEN >= NEEDED);                              /* nothing runs that nobody approved */
            assert(!PERMITS(s) || (permit[s] && !(s == DEPLOY && stale_permit)));
            assert(s != DEPLOY || step[PREPARE] == succeeded || chose_skip);
            assert(s != UNDO || (rolling && attempt[DEPLOY] > 0 && !BUSY(DEPLOY)));
            DO_step_claim(s); attempt[s]++; mine = attempt[s]; rev = revision;
            if :: TARGET(s) -> target = s + 1 :: else fi
       :: else -> skip
       fi;
       if :: mine == 0 -> s = 0 :: else fi }
  :: atomic { mine > 0 ->                                         /* the effect, behind the fence */
       if
       :: FENCED && LEASED ->
            assert(plan == approved);
            assert(!TARGET(s) || target == s + 1);                /* it holds what it touches */
            effects[s]++;
            assert(!UNSAFE(s) || effects[s] <= 1);                /* what is unsafe happens once */
            if :: effects[s] > 1 -> effects[s] = 1 :: else fi
       :: else -> mine = 0; rev = 0; s = 0
       fi }
     if
     :: atomic { mine > 0 && DIES -> mine = 0; rev = 0; s = 0 }            /* dies after it */
     :: atomic { mine > 0 ->                                      /* reports */
          if
          :: CURRENT && BUSY(s) ->
               assert(attempt[s] == mine && rev == revision);      /* a late report changes nothing */
               if
               :: MAY_step_succeed(s) -> DO_step_succeed(s)
               :: MAY_step_fail(s) -> DO_step_fail(s)
               :: !UNSAFE(s) && MAY_step_retry(s) && attempt[s] < CLAIMS -> DO_step_retry(s)
               :: s == PREPARE && MAY_step_cancel(s) -> DO_step_cancel(s)
               fi;
               free(s); settle()
          :: else -> skip
          fi;
          mine = 0; rev = 0; s = 0 }
     :: mine == 0 -> skip
     fi
  :: atomic { mine > 0 && DIES -> mine = 0; rev = 0; s = 0 }               /* dies before it */
  :: mine == 0 && !OPEN -> break
  od
}

/* Leases lapse whether their worker is dead or only slow. And a person is asked what became of it. */
proctype Recovery() {
  bool looked, happened;
  do
  :: atomic { MAY_step_lose(PREPARE) ->
       if
       :: attempt[PREPARE] < CLAIMS -> DO_step_retry(PREPARE)
       :: else -> DO_step_fail(PREPARE); settle()
       fi }
  :: atomic { MAY_step_lose(UNDO) ->
       free(UNDO);
       if
       :: attempt[UNDO] < CLAIMS -> DO_step_retry(UNDO)
       :: else -> DO_step_fail(UNDO); settle()
       fi }
  :: atomic { MAY_step_lose(DEPLOY) ->
       if
       :: SURE -> DO_step_retry(DEPLOY); free(DEPLOY)
       :: !SURE -> DO_step_lose(DEPLOY);
            if :: KEEPS -> skip :: !KEEPS -> free(DEPLOY) fi
       fi }
  :: atomic { step[DEPLOY] == unknown && !looked -> looked = true; happened = effects[DEPLOY] > 0 }
  :: atomic { looked ->                                           /* the answer comes later than the look */
       if
       :: step[DEPLOY] == unknown && happened && MAY_step_succeed(DEPLOY) -> DO_step_succeed(DEPLOY); free(DEPLOY); settle()
       :: step[DEPLOY] == unknown && !happened && MAY_step_retry(DEPLOY) -> DO_step_retry(DEPLOY); free(DEPLOY)
       :: else -> skip
       fi;
       looked = false; happened = false }
  :: !OPEN -> break
  od
}

init {
  atomic {
    run Person(1);
#ifndef RUNNING
    run Person(0); run Person(2);
#endif
#ifndef DECIDING
    run World(); run Recovery(); run Worker();
#endif
    run Bot(); run Worker()
  }
}

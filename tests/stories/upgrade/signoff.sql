BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0013');
CREATE TABLE approval (
	id INTEGER NOT NULL, 
	plan_id INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	digest VARCHAR NOT NULL, 
	team VARCHAR NOT NULL, 
	user VARCHAR NOT NULL, 
	policy VARCHAR NOT NULL, 
	at DATETIME NOT NULL, shown VARCHAR DEFAULT '' NOT NULL, held TEXT DEFAULT '' NOT NULL, factor VARCHAR DEFAULT '' NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(plan_id) REFERENCES "plan" (id), 
	UNIQUE (plan_id, revision, team, user)
);
INSERT INTO "approval" VALUES(1,1,1,'385c95cf1284c8e4c6da04e6f286b1817126bb35fb0f8d9d8e01c45ca6abbb95','T1','BOB','0b654c384bb3','2026-11-14 06:00:03.000000','30b08480c24be40a9498f8a70a096db9b89803b60021972fbea56cd8c744cf3e','BOB','');
INSERT INTO "approval" VALUES(2,2,1,'385c95cf1284c8e4c6da04e6f286b1817126bb35fb0f8d9d8e01c45ca6abbb95','T1','BOB','0b654c384bb3','2026-11-15 06:00:03.000000','30b08480c24be40a9498f8a70a096db9b89803b60021972fbea56cd8c744cf3e','BOB','');
INSERT INTO "approval" VALUES(3,3,1,'2879aaa8fe6db3482169e8056c2a2f262bebfbaa5241c874318665e0f1b0372d','T1','BOB','0b654c384bb3','2026-11-15 22:50:03.000000','b18ac34e65367d3c088e9656708ee044eb4b564c0ba950afc977a473147ff68d','BOB','');
INSERT INTO "approval" VALUES(4,4,1,'4fc0a8fe00690feac370e778088cdbb20924a3fe28e4f5427ccedd9267f1acc9','T1','BOB','0b654c384bb3','2026-11-15 23:00:00.000000','b18ac34e65367d3c088e9656708ee044eb4b564c0ba950afc977a473147ff68d','BOB','');
CREATE TABLE attempt (
	step_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	owner VARCHAR NOT NULL, 
	outcome VARCHAR NOT NULL, 
	report JSON, 
	late JSON, 
	started_at DATETIME NOT NULL, 
	ended_at DATETIME, 
	PRIMARY KEY (step_id, number), 
	FOREIGN KEY(step_id) REFERENCES step (id)
);
INSERT INTO "attempt" VALUES(1,1,'workers-1','succeed','{"status": "succeeded", "summary": "announce ran on production in 0.0 s, exit code 0: it is out", "data": {"exit_code": 0, "seconds": 0.01, "output": "it is out", "log": "attempts/plan-1/tell/1/echo.log"}, "error": null, "recommendations": [], "artifacts": ["attempts/plan-1/tell/1/echo.log"]}',NULL,'2026-11-14 06:00:03.000000','2026-11-14 06:00:03.000000');
INSERT INTO "attempt" VALUES(2,1,'workers-1','succeed','{"status": "succeeded", "summary": "announce ran on production in 0.0 s, exit code 0: it is out", "data": {"exit_code": 0, "seconds": 0.01, "output": "it is out", "log": "attempts/plan-2/tell/1/echo.log"}, "error": null, "recommendations": [], "artifacts": ["attempts/plan-2/tell/1/echo.log"]}',NULL,'2026-11-15 06:00:03.000000','2026-11-15 06:00:03.000000');
INSERT INTO "attempt" VALUES(3,1,'workers-1','succeed','{"status": "succeeded", "summary": "look ran in 0.0 s, exit code 0: there is room", "data": {"exit_code": 0, "seconds": 0.01, "output": "there is room", "log": "attempts/plan-3/look/1/echo.log"}, "error": null, "recommendations": [], "artifacts": ["attempts/plan-3/look/1/echo.log"]}',NULL,'2026-11-15 22:50:03.000000','2026-11-15 22:50:03.000000');
INSERT INTO "attempt" VALUES(4,1,'workers-1','fail','{"status": "failed", "summary": "Go live?", "data": {"checkpoint": true}, "error": {"kind": "permanent", "message": "Go live?", "after": null}, "recommendations": [], "artifacts": []}',NULL,'2026-11-15 22:50:03.000000','2026-11-15 22:50:03.000000');
CREATE TABLE capability (
	worker VARCHAR NOT NULL, 
	action VARCHAR NOT NULL, 
	contract JSON NOT NULL, 
	hash VARCHAR NOT NULL, 
	seen_at DATETIME NOT NULL, 
	PRIMARY KEY (worker, action)
);
INSERT INTO "capability" VALUES('command','run_command','{"worker": "command", "action": "run_command", "summary": "Runs a command of the operator that changes something.", "aliases": [], "parameters": {"additionalProperties": false, "properties": {"command": {"title": "Command", "type": "string"}, "arguments": {"additionalProperties": {"type": "string"}, "title": "Arguments", "type": "object"}}, "required": ["command"], "title": "CommandParams", "type": "object"}, "data": {"description": "`output` is the end of what the command printed; `log` is the file with all of it.", "properties": {"exit_code": {"title": "Exit Code", "type": "integer"}, "seconds": {"title": "Seconds", "type": "number"}, "output": {"title": "Output", "type": "string"}, "log": {"title": "Log", "type": "string"}}, "required": ["exit_code", "seconds", "output", "log"], "title": "CommandData", "type": "object"}, "changes": true, "repeat": "unsafe", "timeout": 3600.0, "typical": 30.0, "target": "command:{command}", "undo": "", "criteria": {"exit_zero": [{"field": "exit_code", "op": "eq", "value": 0, "name": ""}]}, "names": {"command": {"look": {"binding": "f36574cf2e3da22109473d740133cb4606e1ebb3b5c256d7dd114df92bbe84d5", "environment": "", "hint": "only read_command; arguments: none"}, "announce": {"binding": "091b2242824cf178fd4dea259b60880e7dd3df61cf81c89c5a4b16535d19afd2", "environment": "production", "hint": "only run_command; arguments: none"}}}, "preview": true}','8492251e40b5f613815701f76d4ada70268135686c9818da9b1b10dd87496af1','2026-11-14 05:59:00.000000');
INSERT INTO "capability" VALUES('command','read_command','{"worker": "command", "action": "read_command", "summary": "Runs a command of the operator that only reads (`reads = true`).", "aliases": [], "parameters": {"additionalProperties": false, "properties": {"command": {"title": "Command", "type": "string"}, "arguments": {"additionalProperties": {"type": "string"}, "title": "Arguments", "type": "object"}}, "required": ["command"], "title": "CommandParams", "type": "object"}, "data": {"description": "`output` is the end of what the command printed; `log` is the file with all of it.", "properties": {"exit_code": {"title": "Exit Code", "type": "integer"}, "seconds": {"title": "Seconds", "type": "number"}, "output": {"title": "Output", "type": "string"}, "log": {"title": "Log", "type": "string"}}, "required": ["exit_code", "seconds", "output", "log"], "title": "CommandData", "type": "object"}, "changes": false, "repeat": "safe", "timeout": 3600.0, "typical": 30.0, "target": "", "undo": "", "criteria": {"exit_zero": [{"field": "exit_code", "op": "eq", "value": 0, "name": ""}]}, "names": {"command": {"look": {"binding": "f36574cf2e3da22109473d740133cb4606e1ebb3b5c256d7dd114df92bbe84d5", "environment": "", "hint": "only read_command; arguments: none"}, "announce": {"binding": "091b2242824cf178fd4dea259b60880e7dd3df61cf81c89c5a4b16535d19afd2", "environment": "production", "hint": "only run_command; arguments: none"}}}, "preview": true}','a2e27d773d21e6ed8ca579f3a43bf4b56a0174980f8bbf9266146eeae9eb29d2','2026-11-14 05:59:00.000000');
INSERT INTO "capability" VALUES('approval-gate','confirm','{"worker": "approval-gate", "action": "confirm", "summary": "Asks people a question; the plan waits for their Go On.", "aliases": [], "parameters": {"additionalProperties": false, "description": "What people are asked.", "properties": {"question": {"maxLength": 500, "minLength": 3, "title": "Question", "type": "string"}}, "required": ["question"], "title": "ConfirmParams", "type": "object"}, "data": {"description": "Nothing to tell: the answer is a person''s.", "properties": {}, "title": "ConfirmData", "type": "object"}, "changes": false, "repeat": "safe", "timeout": 60.0, "typical": 1.0, "target": "", "undo": "", "criteria": {}, "names": {}, "preview": false}','d1558b34f785b0d57ce298c9d4480c9d79ef625dc20f3f396f8d57174203e55f','2026-11-14 05:59:00.000000');
CREATE TABLE delivery (
	"key" VARCHAR NOT NULL, 
	id INTEGER NOT NULL, 
	kind VARCHAR NOT NULL, 
	body JSON NOT NULL, 
	received_at DATETIME NOT NULL, 
	handled_at DATETIME, 
	PRIMARY KEY ("key")
);
INSERT INTO "delivery" VALUES('command:140559.every day at 06:00 announce the day',1,'command','{}','2026-11-14 05:59:00.000000','2026-11-14 05:59:00.000000');
INSERT INTO "delivery" VALUES('click:BOB:100.000002:approve:140600.1',2,'click','{}','2026-11-14 06:00:03.000000','2026-11-14 06:00:03.000000');
INSERT INTO "delivery" VALUES('command:140600.schedules approve 1 for 5 runs',3,'command','{}','2026-11-14 06:00:03.000000','2026-11-14 06:00:03.000000');
INSERT INTO "delivery" VALUES('command:152250.go live',4,'command','{}','2026-11-15 22:50:00.000000','2026-11-15 22:50:00.000000');
INSERT INTO "delivery" VALUES('click:BOB:100.000010:approve:152250.3',5,'click','{}','2026-11-15 22:50:03.000000','2026-11-15 22:50:03.000000');
INSERT INTO "delivery" VALUES('command:152250.announce',6,'command','{}','2026-11-15 22:50:03.000000','2026-11-15 22:50:03.000000');
INSERT INTO "delivery" VALUES('command:152250.release',7,'command','{}','2026-11-15 22:50:03.000000','2026-11-15 22:50:03.000000');
INSERT INTO "delivery" VALUES('click:BOB:100.000015:approve:152300.4',8,'click','{}','2026-11-15 23:00:00.000000','2026-11-15 23:00:00.000000');
INSERT INTO "delivery" VALUES('command:152300.look',9,'command','{"user": "ANN", "channel": "C1", "text": "look", "trigger": "152300.look"}','2026-11-15 23:00:00.000000',NULL);
CREATE TABLE event (
	id INTEGER NOT NULL, 
	plan_id INTEGER NOT NULL, 
	seq INTEGER NOT NULL, 
	at DATETIME NOT NULL, 
	verb VARCHAR NOT NULL, 
	actor VARCHAR NOT NULL, 
	data JSON NOT NULL, 
	prev VARCHAR NOT NULL, 
	hash VARCHAR NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (plan_id, seq)
);
INSERT INTO "event" VALUES(1,0,1,'2026-11-14 05:59:00.000000','recur','ANN','{"recurring": 1, "text": "announce the day", "cron": "0 6 * * *", "zone": "UTC", "via": "command"}','','59fca4188e63d33c3037317a52e816dd05118b8948f92758d6279c8435eeb98c');
INSERT INTO "event" VALUES(2,1,1,'2026-11-14 06:00:00.000000','request','ANN','{"text": "announce the day", "channel": "C1", "recurring": 1, "day": "2026-11-14"}','','39a0d07efddf5323d5886a53ed934111da7ede55f3eb43b7b18670f2628ba944');
INSERT INTO "event" VALUES(3,1,2,'2026-11-14 06:00:00.000000','propose','planner','{"digest": "385c95cf1284c8e4c6da04e6f286b1817126bb35fb0f8d9d8e01c45ca6abbb95", "risk": "high", "needed": 1, "policy": "0b654c384bb3"}','39a0d07efddf5323d5886a53ed934111da7ede55f3eb43b7b18670f2628ba944','83874391781c2d7dc1c216ad1d78a07aacad66dd735d8d736bb0a2b996019627');
INSERT INTO "event" VALUES(4,1,3,'2026-11-14 06:00:00.000000','preview','workers-1','{"step": "tell", "revision": 1, "basis": "", "text": "Runs `echo ''it is out''` on production; at most 600 s."}','83874391781c2d7dc1c216ad1d78a07aacad66dd735d8d736bb0a2b996019627','56d3900e7fb0f5c04d45e4d62f3e783765f964d9d1718d635290d08302b28bac');
INSERT INTO "event" VALUES(5,1,4,'2026-11-14 06:00:03.000000','approve','BOB','{"revision": 1, "digest": "385c95cf1284c8e4c6da04e6f286b1817126bb35fb0f8d9d8e01c45ca6abbb95", "given": 1, "needed": 1, "policy": "0b654c384bb3", "shown": "30b08480c24be40a9498f8a70a096db9b89803b60021972fbea56cd8c744cf3e", "permits": true, "via": "click"}','56d3900e7fb0f5c04d45e4d62f3e783765f964d9d1718d635290d08302b28bac','ba1f5de089966c61e9a9e185db2b44b1a6fd54592573e7a4e1bd7f27faa2273e');
INSERT INTO "event" VALUES(6,1,5,'2026-11-14 06:00:03.000000','claim','workers-1','{"step": "tell", "attempt": 1, "digest": "4b189f27c9046aa5764e856825602f4a204dd8b3e305b642f14b42cee0c73099", "target": "command:announce"}','ba1f5de089966c61e9a9e185db2b44b1a6fd54592573e7a4e1bd7f27faa2273e','b7357b9caefa43037413002104f0b1b24e6f46f9aec55b4ed522b0ebb7fb4576');
INSERT INTO "event" VALUES(7,1,6,'2026-11-14 06:00:03.000000','succeed','workers-1','{"step": "tell", "attempt": 1, "summary": "announce ran on production in 0.0 s, exit code 0: it is out", "report": "883a2beaad72dba265fdbf7d8857bcdbaa7b1347af45d10bf199fe7aee9e95d5"}','b7357b9caefa43037413002104f0b1b24e6f46f9aec55b4ed522b0ebb7fb4576','768195eb0f49262201769c165b0d11f812e5ee386f1b0c87f88b7b60432b6731');
INSERT INTO "event" VALUES(8,1,7,'2026-11-14 06:00:03.000000','finish','rules','{"reason": "every step succeeded", "outcome": "succeeded"}','768195eb0f49262201769c165b0d11f812e5ee386f1b0c87f88b7b60432b6731','2cae4304ffa91bd923578a3cc993ff4df08d167b6b9a0626676ec3683da714dc');
INSERT INTO "event" VALUES(9,0,2,'2026-11-14 06:00:03.000000','stand','BOB','{"recurring": 1, "digest": "385c95cf1284c8e4c6da04e6f286b1817126bb35fb0f8d9d8e01c45ca6abbb95", "runs": 5, "until": "2026-12-14T06:00:03+00:00", "via": "command"}','59fca4188e63d33c3037317a52e816dd05118b8948f92758d6279c8435eeb98c','30c5e1c75c87758ccbce6b4f386a1e6a8e60a81f1872a50ce49844ad5d44e917');
INSERT INTO "event" VALUES(10,2,1,'2026-11-15 06:00:03.000000','request','ANN','{"text": "announce the day", "channel": "C1", "recurring": 1, "day": "2026-11-15"}','','95c0a267866092dd3955c397aa4e2f35267ca8f0cf276d65bbc1ffb5d327ac3e');
INSERT INTO "event" VALUES(11,2,2,'2026-11-15 06:00:03.000000','propose','planner','{"digest": "385c95cf1284c8e4c6da04e6f286b1817126bb35fb0f8d9d8e01c45ca6abbb95", "risk": "high", "needed": 1, "policy": "0b654c384bb3"}','95c0a267866092dd3955c397aa4e2f35267ca8f0cf276d65bbc1ffb5d327ac3e','ecd0900b97c93825e1400de44c26da0ec6a35dc6633227c6d5b781d7db6aae68');
INSERT INTO "event" VALUES(12,2,3,'2026-11-15 06:00:03.000000','preview','workers-1','{"step": "tell", "revision": 1, "basis": "", "text": "Runs `echo ''it is out''` on production; at most 600 s."}','ecd0900b97c93825e1400de44c26da0ec6a35dc6633227c6d5b781d7db6aae68','7cc17c3496ac5eabc0da1257f6cbb4d404af55f4335ce51a652344ab948f0c91');
INSERT INTO "event" VALUES(13,2,4,'2026-11-15 06:00:03.000000','approve','BOB','{"revision": 1, "digest": "385c95cf1284c8e4c6da04e6f286b1817126bb35fb0f8d9d8e01c45ca6abbb95", "given": 1, "needed": 1, "standing": 1, "left": 4, "policy": "0b654c384bb3", "shown": "30b08480c24be40a9498f8a70a096db9b89803b60021972fbea56cd8c744cf3e", "permits": true}','7cc17c3496ac5eabc0da1257f6cbb4d404af55f4335ce51a652344ab948f0c91','e10073691a59cacda6f9d24f2f5c065f61fc65dc0d8bae0e929f29a07d243e12');
INSERT INTO "event" VALUES(14,2,5,'2026-11-15 06:00:03.000000','claim','workers-1','{"step": "tell", "attempt": 1, "digest": "4b189f27c9046aa5764e856825602f4a204dd8b3e305b642f14b42cee0c73099", "target": "command:announce"}','e10073691a59cacda6f9d24f2f5c065f61fc65dc0d8bae0e929f29a07d243e12','50b2d4f68c17a7f59a6569f79d4400ebec96c91358616bff61d214fadb567fce');
INSERT INTO "event" VALUES(15,2,6,'2026-11-15 06:00:03.000000','succeed','workers-1','{"step": "tell", "attempt": 1, "summary": "announce ran on production in 0.0 s, exit code 0: it is out", "report": "8a157a4de06ae7a7d0951d09c30ed98d019197a2095ef613d1d4422f200746aa"}','50b2d4f68c17a7f59a6569f79d4400ebec96c91358616bff61d214fadb567fce','66acd381c12b7ebea408777808bce135e88c28769fd66bdc32d9d0e72161f819');
INSERT INTO "event" VALUES(16,2,7,'2026-11-15 06:00:03.000000','finish','rules','{"reason": "every step succeeded", "outcome": "succeeded"}','66acd381c12b7ebea408777808bce135e88c28769fd66bdc32d9d0e72161f819','b0366fabbe93cd7b191146dfc97fd532845d354fe3314d26c1c8eb5083455612');
INSERT INTO "event" VALUES(17,3,1,'2026-11-15 22:50:00.000000','request','ANN','{"text": "go live", "channel": "C1", "via": "command"}','','03ba00826b8780189faea813443ab0ec4ab8e6899065a5ae6242084b358356b0');
INSERT INTO "event" VALUES(18,3,2,'2026-11-15 22:50:00.000000','propose','planner','{"digest": "2879aaa8fe6db3482169e8056c2a2f262bebfbaa5241c874318665e0f1b0372d", "risk": "high", "needed": 1, "policy": "0b654c384bb3"}','03ba00826b8780189faea813443ab0ec4ab8e6899065a5ae6242084b358356b0','9623a7bd74ee8afb8951858f8bb9a724fd5e6f331b166a30fd1d264da3f4da4f');
INSERT INTO "event" VALUES(19,3,3,'2026-11-15 22:50:00.000000','preview','workers-1','{"step": "look", "revision": 1, "basis": "", "text": "Runs `echo ''there is room''`; at most 600 s."}','9623a7bd74ee8afb8951858f8bb9a724fd5e6f331b166a30fd1d264da3f4da4f','d863e0111cdc31c00c071e9fe71dbfe03d35f50905579c6be7aa0cb873c8adfd');
INSERT INTO "event" VALUES(20,3,4,'2026-11-15 22:50:00.000000','preview','workers-1','{"step": "tell", "revision": 1, "basis": "", "text": "Runs `echo ''it is out''` on production; at most 600 s."}','d863e0111cdc31c00c071e9fe71dbfe03d35f50905579c6be7aa0cb873c8adfd','bf84cb6116e8e5fddbc8a4a51e75a5b364e0a2c55283ba21eb1dd94fd86c7acd');
INSERT INTO "event" VALUES(21,3,5,'2026-11-15 22:50:03.000000','approve','BOB','{"revision": 1, "digest": "2879aaa8fe6db3482169e8056c2a2f262bebfbaa5241c874318665e0f1b0372d", "given": 1, "needed": 1, "policy": "0b654c384bb3", "shown": "b18ac34e65367d3c088e9656708ee044eb4b564c0ba950afc977a473147ff68d", "permits": true, "via": "click"}','bf84cb6116e8e5fddbc8a4a51e75a5b364e0a2c55283ba21eb1dd94fd86c7acd','aa8c4633d9727b294065f151eae70b773ad72eecf8fac06a11c1c7f2a14736bc');
INSERT INTO "event" VALUES(22,3,6,'2026-11-15 22:50:03.000000','claim','workers-1','{"step": "look", "attempt": 1, "digest": "c51020b38cc836427c1d195b3bbede5d08eb2c53be50a4a805122eba4a149555", "target": ""}','aa8c4633d9727b294065f151eae70b773ad72eecf8fac06a11c1c7f2a14736bc','76ad9afec05efa5f41e7903138f2ad8d4ec8a8f8689be0297c466ac3238d2a2e');
INSERT INTO "event" VALUES(23,3,7,'2026-11-15 22:50:03.000000','succeed','workers-1','{"step": "look", "attempt": 1, "summary": "look ran in 0.0 s, exit code 0: there is room", "report": "799bc353c217bc418907cd2e07b093b14bc313e4f1cf90ceaca572362d9d6f4a"}','76ad9afec05efa5f41e7903138f2ad8d4ec8a8f8689be0297c466ac3238d2a2e','0aa383e42f1cbb2216f58fa3ebf9a0297895edc1d27fbd7e9c190b897434c6c7');
INSERT INTO "event" VALUES(24,3,8,'2026-11-15 22:50:03.000000','claim','workers-1','{"step": "gate", "attempt": 1, "digest": "2012c6cdd72fef858b7658d7970a0df8af859bed561dfbd3610276507ef82fa1", "target": ""}','0aa383e42f1cbb2216f58fa3ebf9a0297895edc1d27fbd7e9c190b897434c6c7','0a190b4c95312fde3eff5821894147bfbb1ffaceb43cbafdabb1f7139c895038');
INSERT INTO "event" VALUES(25,3,9,'2026-11-15 22:50:03.000000','fail','workers-1','{"step": "gate", "attempt": 1, "summary": "Go live?", "report": "29cf2bff8e45faa5cd1a041eed80af52b2522e8f6515781c8c87c65eca2f0d14", "asks": true}','0a190b4c95312fde3eff5821894147bfbb1ffaceb43cbafdabb1f7139c895038','be9a66b4def79ffb80d63c81feb566e52c1f24a8b4139fed3dee194a25ff2453');
INSERT INTO "event" VALUES(26,3,10,'2026-11-15 22:50:03.000000','stall','rules','{"reason": "step gate failed", "outcome": ""}','be9a66b4def79ffb80d63c81feb566e52c1f24a8b4139fed3dee194a25ff2453','36d3d8a90d68f7483f24de8b7faed559ce003c066acdb3083ae5d7492f9e62cd');
INSERT INTO "event" VALUES(27,4,1,'2026-11-15 22:50:03.000000','request','ANN','{"text": "announce", "channel": "C1", "via": "command"}','','4e0ada2e4dbcdfc065e133beeabe61cf578b7475c90b7b43c1aebbb94ea8dfb6');
INSERT INTO "event" VALUES(28,5,1,'2026-11-15 22:50:03.000000','request','ANN','{"text": "release", "channel": "C1", "via": "command"}','','7af0194a31871d191eabc23c84be42bf6b34d63a5ad517c72e4a5cf2a0e67613');
INSERT INTO "event" VALUES(29,4,2,'2026-11-15 22:50:03.000000','propose','planner','{"digest": "4fc0a8fe00690feac370e778088cdbb20924a3fe28e4f5427ccedd9267f1acc9", "risk": "high", "needed": 1, "policy": "0b654c384bb3"}','4e0ada2e4dbcdfc065e133beeabe61cf578b7475c90b7b43c1aebbb94ea8dfb6','3de4ffeac882c5072169c452707c1b1a6729b7224b3ab1c47da6d10e01868afe');
INSERT INTO "event" VALUES(30,5,2,'2026-11-15 22:50:03.000000','propose','planner','{"digest": "23ebfdb6709ed23523b454bc456682b4b1c80d6a7b0376331a82fff52480c2be", "risk": "high", "needed": 1, "policy": "0b654c384bb3"}','7af0194a31871d191eabc23c84be42bf6b34d63a5ad517c72e4a5cf2a0e67613','7548a1e95cb755192f0740d2a9dffd6f2d92cf600c17aba9307d8e2954bb4f9a');
INSERT INTO "event" VALUES(31,4,3,'2026-11-15 22:50:03.000000','preview','workers-1','{"step": "look", "revision": 1, "basis": "", "text": "Runs `echo ''there is room''`; at most 600 s."}','3de4ffeac882c5072169c452707c1b1a6729b7224b3ab1c47da6d10e01868afe','e656834b1107647bd82f24bb3987a3fafc63d226f436a29317a8eab03892c6df');
INSERT INTO "event" VALUES(32,4,4,'2026-11-15 22:50:03.000000','preview','workers-1','{"step": "tell", "revision": 1, "basis": "", "text": "Runs `echo ''it is out''` on production; at most 600 s."}','e656834b1107647bd82f24bb3987a3fafc63d226f436a29317a8eab03892c6df','28d145fb5a52983e80c25dbbd2d52640f7da34f1d709043f927599c68db96e26');
INSERT INTO "event" VALUES(33,5,3,'2026-11-15 22:50:03.000000','preview','workers-1','{"step": "tell", "revision": 1, "basis": "", "text": "Runs `echo ''it is out''` on production; at most 600 s."}','7548a1e95cb755192f0740d2a9dffd6f2d92cf600c17aba9307d8e2954bb4f9a','7b0116eef1de540ab788ea22929135dd91362b42283dad1dfc8f5ec9d6c57667');
INSERT INTO "event" VALUES(34,4,5,'2026-11-15 23:00:00.000000','approve','BOB','{"revision": 1, "digest": "4fc0a8fe00690feac370e778088cdbb20924a3fe28e4f5427ccedd9267f1acc9", "given": 1, "needed": 1, "policy": "0b654c384bb3", "shown": "b18ac34e65367d3c088e9656708ee044eb4b564c0ba950afc977a473147ff68d", "permits": true, "via": "click"}','28d145fb5a52983e80c25dbbd2d52640f7da34f1d709043f927599c68db96e26','8f71fa5ebfaee387fe59221bfe36c1e2ecad7a94cf0a2bff6d77926b70f4ec31');
CREATE TABLE factor (
	user VARCHAR NOT NULL, 
	sealed TEXT NOT NULL, 
	counter INTEGER NOT NULL, 
	failures INTEGER NOT NULL, 
	enrolled_at DATETIME NOT NULL, 
	PRIMARY KEY (user)
);
CREATE TABLE message (
	id INTEGER NOT NULL, 
	plan_id INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	channel VARCHAR NOT NULL, 
	user VARCHAR NOT NULL, 
	ts VARCHAR NOT NULL, 
	step VARCHAR NOT NULL, 
	text TEXT NOT NULL, 
	urgent BOOLEAN NOT NULL, 
	wanted INTEGER NOT NULL, 
	shown INTEGER NOT NULL, 
	sending INTEGER NOT NULL, 
	tries INTEGER NOT NULL, 
	not_before DATETIME NOT NULL, 
	problem TEXT NOT NULL, seq INTEGER DEFAULT '0' NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE ("key")
);
INSERT INTO "message" VALUES(1,0,'answer:command:140559.every day at 06:00 announce the day','whisper','C1','ANN','','','Recurring plan 1: “announce the day”, every day at 06:00 in UTC. Next: Sat 14 Nov 06:00 UTC. Each run asks for its approval; `/plan schedules` lists them.',0,1,1,0,0,'2026-11-14 06:00:06.000000','',0);
INSERT INTO "message" VALUES(2,1,'card:1','card','C1','','100.000002','','',0,13,13,0,0,'2026-11-15 22:50:06.000000','',0);
INSERT INTO "message" VALUES(3,1,'decision:1:4','decision','C1','','100.000004','','',0,1,1,0,0,'2026-11-15 22:50:06.000000','',4);
INSERT INTO "message" VALUES(4,1,'outcome:1:6','outcome','C1','','','tell','',0,1,1,0,0,'2026-11-15 22:50:06.000000','',6);
INSERT INTO "message" VALUES(5,1,'summary:1:7','summary','C1','','100.000005','','',0,1,1,0,0,'2026-11-15 22:50:06.000000','',7);
INSERT INTO "message" VALUES(6,0,'answer:command:140600.schedules approve 1 for 5 runs','whisper','C1','BOB','','','Your approval stands for 5 runs of recurring plan 1, until 14 Dec 2026, as long as its plan stays digest `385c95cf1284`.',0,1,1,0,0,'2026-11-15 22:50:06.000000','',0);
INSERT INTO "message" VALUES(7,2,'card:2','card','C1','','100.000007','','',0,13,13,0,0,'2026-11-15 22:50:06.000000','',0);
INSERT INTO "message" VALUES(8,2,'decision:2:4','decision','C1','','100.000008','','',0,1,1,0,0,'2026-11-15 22:50:06.000000','',4);
INSERT INTO "message" VALUES(9,2,'outcome:2:6','outcome','C1','','','tell','',0,1,1,0,0,'2026-11-15 22:50:06.000000','',6);
INSERT INTO "message" VALUES(10,2,'summary:2:7','summary','C1','','100.000009','','',0,1,1,0,0,'2026-11-15 22:50:06.000000','',7);
INSERT INTO "message" VALUES(11,3,'card:3','card','C1','','100.000010','','',0,17,17,0,0,'2026-11-15 22:50:09.000000','',0);
INSERT INTO "message" VALUES(12,3,'decision:3:5','decision','C1','','100.000012','','',0,1,1,0,0,'2026-11-15 22:50:09.000000','',5);
INSERT INTO "message" VALUES(13,3,'outcome:3:7','outcome','C1','','100.000013','look','',0,1,1,0,0,'2026-11-15 22:50:09.000000','',7);
INSERT INTO "message" VALUES(14,3,'outcome:3:9','outcome','C1','','100.000014','gate','',0,2,2,0,0,'2026-11-15 22:50:09.000000','',9);
INSERT INTO "message" VALUES(15,4,'card:4','card','C1','','100.000015','','',1,11,8,0,0,'2026-11-15 23:00:00.000000','',0);
INSERT INTO "message" VALUES(16,5,'card:5','card','C1','','100.000016','','',0,6,6,0,0,'2026-11-15 22:50:12.000000','',0);
INSERT INTO "message" VALUES(17,4,'decision:4:5','decision','C1','','','','',0,1,0,0,0,'2026-11-15 23:00:00.000000','',5);
CREATE TABLE occurrence (
	recurring_id INTEGER NOT NULL, 
	day DATE NOT NULL, 
	plan_id INTEGER NOT NULL, 
	PRIMARY KEY (recurring_id, day), 
	FOREIGN KEY(recurring_id) REFERENCES recurring (id)
);
INSERT INTO "occurrence" VALUES(1,'2026-11-14',1);
INSERT INTO "occurrence" VALUES(1,'2026-11-15',2);
CREATE TABLE override (
	id INTEGER NOT NULL, 
	plan_id INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	digest VARCHAR NOT NULL, 
	user VARCHAR NOT NULL, 
	parts VARCHAR NOT NULL, 
	reason TEXT NOT NULL, 
	asked_at DATETIME NOT NULL, 
	confirmed_at DATETIME, 
	reviewed_by VARCHAR NOT NULL, 
	review TEXT NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(plan_id) REFERENCES "plan" (id)
);
CREATE TABLE "plan" (
	id INTEGER NOT NULL, 
	state VARCHAR NOT NULL, 
	version INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	team VARCHAR NOT NULL, 
	requester VARCHAR NOT NULL, 
	channel VARCHAR NOT NULL, 
	thread VARCHAR NOT NULL, 
	outcome VARCHAR NOT NULL, 
	reason TEXT NOT NULL, 
	head VARCHAR NOT NULL, 
	events INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, cancelled_by VARCHAR DEFAULT '' NOT NULL, look INTEGER DEFAULT 0 NOT NULL, form TEXT DEFAULT '' NOT NULL, given TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "plan" VALUES(1,'done',13,1,'announce the day','T1','ANN','C1','','succeeded','every step succeeded','2cae4304ffa91bd923578a3cc993ff4df08d167b6b9a0626676ec3683da714dc',7,'2026-11-14 06:00:00.000000','',0,'','');
INSERT INTO "plan" VALUES(2,'done',13,1,'announce the day','T1','ANN','C1','','succeeded','every step succeeded','b0366fabbe93cd7b191146dfc97fd532845d354fe3314d26c1c8eb5083455612',7,'2026-11-15 06:00:03.000000','',0,'','');
INSERT INTO "plan" VALUES(3,'stalled',17,1,'go live','T1','ANN','C1','','','step gate failed','36d3d8a90d68f7483f24de8b7faed559ce003c066acdb3083ae5d7492f9e62cd',10,'2026-11-15 22:50:00.000000','',0,'','');
INSERT INTO "plan" VALUES(4,'approved',11,1,'announce','T1','ANN','C1','','','','8f71fa5ebfaee387fe59221bfe36c1e2ecad7a94cf0a2bff6d77926b70f4ec31',5,'2026-11-15 22:50:03.000000','',0,'','');
INSERT INTO "plan" VALUES(5,'proposed',6,1,'release','T1','ANN','C1','','','','7b0116eef1de540ab788ea22929135dd91362b42283dad1dfc8f5ec9d6c57667',3,'2026-11-15 22:50:03.000000','',0,'','');
CREATE TABLE preview (
	plan_id INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	worker VARCHAR NOT NULL, 
	action VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	text TEXT NOT NULL, 
	basis VARCHAR NOT NULL, 
	at DATETIME NOT NULL, 
	PRIMARY KEY (plan_id, revision, "key"), 
	FOREIGN KEY(plan_id) REFERENCES "plan" (id)
);
INSERT INTO "preview" VALUES(1,1,'tell','command','run_command','made','Runs `echo ''it is out''` on production; at most 600 s.','','2026-11-14 06:00:00.000000');
INSERT INTO "preview" VALUES(2,1,'tell','command','run_command','made','Runs `echo ''it is out''` on production; at most 600 s.','','2026-11-15 06:00:03.000000');
INSERT INTO "preview" VALUES(3,1,'look','command','read_command','made','Runs `echo ''there is room''`; at most 600 s.','','2026-11-15 22:50:00.000000');
INSERT INTO "preview" VALUES(3,1,'tell','command','run_command','made','Runs `echo ''it is out''` on production; at most 600 s.','','2026-11-15 22:50:00.000000');
INSERT INTO "preview" VALUES(4,1,'look','command','read_command','made','Runs `echo ''there is room''`; at most 600 s.','','2026-11-15 22:50:03.000000');
INSERT INTO "preview" VALUES(4,1,'tell','command','run_command','made','Runs `echo ''it is out''` on production; at most 600 s.','','2026-11-15 22:50:03.000000');
INSERT INTO "preview" VALUES(5,1,'tell','command','run_command','made','Runs `echo ''it is out''` on production; at most 600 s.','','2026-11-15 22:50:03.000000');
CREATE TABLE process (
	name VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	release VARCHAR NOT NULL, 
	started_at DATETIME NOT NULL, 
	seen_at DATETIME NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "process" VALUES('workers-1','workers','0','2026-11-14 05:59:00.000000','2026-11-14 05:59:00.000000');
CREATE TABLE recurring (
	id INTEGER NOT NULL, 
	state VARCHAR NOT NULL, 
	text TEXT NOT NULL, 
	said VARCHAR NOT NULL, 
	cron VARCHAR NOT NULL, 
	zone VARCHAR NOT NULL, 
	team VARCHAR NOT NULL, 
	user VARCHAR NOT NULL, 
	channel VARCHAR NOT NULL, 
	next_at DATETIME, 
	made_at DATETIME NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "recurring" VALUES(1,'active','announce the day','day at 06:00','0 6 * * *','UTC','T1','ANN','C1','2026-11-16 06:00:00.000000','2026-11-14 05:59:00.000000');
CREATE TABLE revision (
	plan_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	spec TEXT NOT NULL, 
	digest VARCHAR NOT NULL, 
	author VARCHAR NOT NULL, 
	note TEXT NOT NULL, 
	risk VARCHAR NOT NULL, 
	reasons JSON NOT NULL, 
	needed INTEGER NOT NULL, 
	approvers JSON NOT NULL, 
	authors JSON NOT NULL, 
	policy VARCHAR NOT NULL, 
	seconds FLOAT NOT NULL, 
	changes JSON NOT NULL, 
	made_at DATETIME NOT NULL, 
	expires_at DATETIME NOT NULL, parent INTEGER DEFAULT 0 NOT NULL, demands TEXT DEFAULT '' NOT NULL, 
	PRIMARY KEY (plan_id, number), 
	FOREIGN KEY(plan_id) REFERENCES "plan" (id)
);
INSERT INTO "revision" VALUES(1,1,'{"goal":"announce the day","steps":[{"id":"tell","worker":"command","action":"run_command","purpose":"","parameters":{"command":"announce"},"depends_on":[],"schedule":{"window":"","at":"","not_before":null,"not_after":null,"zone":"UTC","closed":[],"overrun":"finish"},"success_criteria":[],"failure_action":"ask","retries":{"attempts":3,"wait":5.0},"contract":"8492251e40b5f613815701f76d4ada70268135686c9818da9b1b10dd87496af1","binding":"6271fb07900d2217d156f07cf436d76d21f30039a2fcaf84e9a2fde4bec7e994"}],"rollback":[],"done_when":[],"mandate":{"reads":true,"extra":[],"max_added_steps":5,"max_cost_usd":1.0},"continues":false,"review":"anomalies"}','385c95cf1284c8e4c6da04e6f286b1817126bb35fb0f8d9d8e01c45ca6abbb95','planner','as drafted','high','["changes command announce in production"]',1,'["BOB", "CAROL"]','["ANN"]','0b654c384bb3',30.0,'[]','2026-11-14 06:00:00.000000','2026-11-15 06:00:00.000000',0,'{"quorums":[{"needed":1,"of":["BOB","CAROL"],"general":true,"why":"changes command announce in production"}],"second_factor":false,"authors":false,"denied":[],"said":[],"glass":[]}');
INSERT INTO "revision" VALUES(2,1,'{"goal":"announce the day","steps":[{"id":"tell","worker":"command","action":"run_command","purpose":"","parameters":{"command":"announce"},"depends_on":[],"schedule":{"window":"","at":"","not_before":null,"not_after":null,"zone":"UTC","closed":[],"overrun":"finish"},"success_criteria":[],"failure_action":"ask","retries":{"attempts":3,"wait":5.0},"contract":"8492251e40b5f613815701f76d4ada70268135686c9818da9b1b10dd87496af1","binding":"6271fb07900d2217d156f07cf436d76d21f30039a2fcaf84e9a2fde4bec7e994"}],"rollback":[],"done_when":[],"mandate":{"reads":true,"extra":[],"max_added_steps":5,"max_cost_usd":1.0},"continues":false,"review":"anomalies"}','385c95cf1284c8e4c6da04e6f286b1817126bb35fb0f8d9d8e01c45ca6abbb95','planner','as drafted','high','["changes command announce in production"]',1,'["BOB", "CAROL"]','["ANN"]','0b654c384bb3',30.0,'[]','2026-11-15 06:00:03.000000','2026-11-16 06:00:03.000000',0,'{"quorums":[{"needed":1,"of":["BOB","CAROL"],"general":true,"why":"changes command announce in production"}],"second_factor":false,"authors":false,"denied":[],"said":[],"glass":[]}');
INSERT INTO "revision" VALUES(3,1,'{"goal":"go live","steps":[{"id":"look","worker":"command","action":"read_command","purpose":"","parameters":{"command":"look"},"depends_on":[],"schedule":{"window":"","at":"","not_before":null,"not_after":null,"zone":"UTC","closed":[],"overrun":"finish"},"success_criteria":[],"failure_action":"ask","retries":{"attempts":3,"wait":5.0},"contract":"a2e27d773d21e6ed8ca579f3a43bf4b56a0174980f8bbf9266146eeae9eb29d2","binding":"0991cabeaefb8e2fe986a9a35c2fd1a7bf092600675b0b24c0c118dd9c766603"},{"id":"gate","worker":"approval-gate","action":"confirm","purpose":"","parameters":{"question":"Go live?"},"depends_on":["look"],"schedule":{"window":"","at":"","not_before":null,"not_after":null,"zone":"UTC","closed":[],"overrun":"finish"},"success_criteria":[],"failure_action":"ask","retries":{"attempts":3,"wait":5.0},"contract":"d1558b34f785b0d57ce298c9d4480c9d79ef625dc20f3f396f8d57174203e55f","binding":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},{"id":"tell","worker":"command","action":"run_command","purpose":"","parameters":{"command":"announce"},"depends_on":["gate"],"schedule":{"window":"","at":"","not_before":null,"not_after":null,"zone":"UTC","closed":[],"overrun":"finish"},"success_criteria":[],"failure_action":"ask","retries":{"attempts":3,"wait":5.0},"contract":"8492251e40b5f613815701f76d4ada70268135686c9818da9b1b10dd87496af1","binding":"6271fb07900d2217d156f07cf436d76d21f30039a2fcaf84e9a2fde4bec7e994"}],"rollback":[],"done_when":[],"mandate":{"reads":true,"extra":[],"max_added_steps":5,"max_cost_usd":1.0},"continues":false,"review":"anomalies"}','2879aaa8fe6db3482169e8056c2a2f262bebfbaa5241c874318665e0f1b0372d','planner','as drafted','high','["changes command announce in production"]',1,'["BOB", "CAROL"]','["ANN"]','0b654c384bb3',61.0,'[]','2026-11-15 22:50:00.000000','2026-11-16 22:50:00.000000',0,'{"quorums":[{"needed":1,"of":["BOB","CAROL"],"general":true,"why":"changes command announce in production"}],"second_factor":false,"authors":false,"denied":[],"said":[],"glass":[]}');
INSERT INTO "revision" VALUES(4,1,'{"goal":"announce","steps":[{"id":"look","worker":"command","action":"read_command","purpose":"","parameters":{"command":"look"},"depends_on":[],"schedule":{"window":"nightly","at":"nightly","not_before":"2026-11-16T07:00:00Z","not_after":"2026-11-16T09:00:00Z","zone":"America/New_York","closed":[],"overrun":"finish"},"success_criteria":[{"field":"exit_code","op":"eq","value":0,"name":"exit_zero"}],"failure_action":"ask","retries":{"attempts":3,"wait":5.0},"contract":"a2e27d773d21e6ed8ca579f3a43bf4b56a0174980f8bbf9266146eeae9eb29d2","binding":"0991cabeaefb8e2fe986a9a35c2fd1a7bf092600675b0b24c0c118dd9c766603"},{"id":"tell","worker":"command","action":"run_command","purpose":"","parameters":{"command":"announce"},"depends_on":["look"],"schedule":{"window":"nightly","at":"nightly","not_before":"2026-11-16T07:00:00Z","not_after":"2026-11-16T09:00:00Z","zone":"America/New_York","closed":[],"overrun":"finish"},"success_criteria":[],"failure_action":"ask","retries":{"attempts":3,"wait":5.0},"contract":"8492251e40b5f613815701f76d4ada70268135686c9818da9b1b10dd87496af1","binding":"6271fb07900d2217d156f07cf436d76d21f30039a2fcaf84e9a2fde4bec7e994"}],"rollback":[],"done_when":[],"mandate":{"reads":true,"extra":[],"max_added_steps":5,"max_cost_usd":1.0},"continues":false,"review":"anomalies"}','4fc0a8fe00690feac370e778088cdbb20924a3fe28e4f5427ccedd9267f1acc9','planner','as drafted','high','["changes command announce in production"]',1,'["BOB", "CAROL"]','["ANN"]','0b654c384bb3',60.0,'[]','2026-11-15 22:50:03.000000','2026-11-16 22:50:03.000000',0,'{"quorums":[{"needed":1,"of":["BOB","CAROL"],"general":true,"why":"changes command announce in production"}],"second_factor":false,"authors":false,"denied":[],"said":[],"glass":[]}');
INSERT INTO "revision" VALUES(5,1,'{"goal":"release","steps":[{"id":"tell","worker":"command","action":"run_command","purpose":"","parameters":{"command":"announce"},"depends_on":[],"schedule":{"window":"","at":"","not_before":null,"not_after":null,"zone":"UTC","closed":[],"overrun":"finish"},"success_criteria":[{"field":"exit_code","op":"eq","value":0,"name":""}],"failure_action":"ask","retries":{"attempts":3,"wait":5.0},"contract":"8492251e40b5f613815701f76d4ada70268135686c9818da9b1b10dd87496af1","binding":"6271fb07900d2217d156f07cf436d76d21f30039a2fcaf84e9a2fde4bec7e994"}],"rollback":[],"done_when":[],"mandate":{"reads":true,"extra":[],"max_added_steps":5,"max_cost_usd":1.0},"continues":false,"review":"anomalies"}','23ebfdb6709ed23523b454bc456682b4b1c80d6a7b0376331a82fff52480c2be','planner','as drafted','high','["changes command announce in production"]',1,'["BOB", "CAROL"]','["ANN"]','0b654c384bb3',30.0,'[]','2026-11-15 22:50:03.000000','2026-11-16 22:50:03.000000',0,'{"quorums":[{"needed":1,"of":["BOB","CAROL"],"general":true,"why":"changes command announce in production"}],"second_factor":false,"authors":false,"denied":[],"said":[],"glass":[]}');
CREATE TABLE spending (
	id INTEGER NOT NULL, 
	plan_id INTEGER NOT NULL, 
	user VARCHAR NOT NULL, 
	model VARCHAR NOT NULL, 
	usd FLOAT NOT NULL, 
	at DATETIME NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE standing (
	recurring_id INTEGER NOT NULL, 
	user VARCHAR NOT NULL, 
	team VARCHAR NOT NULL, 
	digest VARCHAR NOT NULL, 
	cron VARCHAR NOT NULL, 
	zone VARCHAR NOT NULL, 
	runs_left INTEGER NOT NULL, 
	until DATETIME NOT NULL, 
	policy VARCHAR NOT NULL, 
	at DATETIME NOT NULL, 
	PRIMARY KEY (recurring_id, user), 
	FOREIGN KEY(recurring_id) REFERENCES recurring (id)
);
INSERT INTO "standing" VALUES(1,'BOB','T1','385c95cf1284c8e4c6da04e6f286b1817126bb35fb0f8d9d8e01c45ca6abbb95','0 6 * * *','UTC',4,'2026-12-14 06:00:03.000000','0b654c384bb3','2026-11-14 06:00:03.000000');
CREATE TABLE step (
	id INTEGER NOT NULL, 
	plan_id INTEGER NOT NULL, 
	revision INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	"key" VARCHAR NOT NULL, 
	undo BOOLEAN NOT NULL, 
	digest VARCHAR NOT NULL, 
	worker VARCHAR NOT NULL, 
	action VARCHAR NOT NULL, 
	changes BOOLEAN NOT NULL, 
	repeat VARCHAR NOT NULL, 
	timeout FLOAT NOT NULL, 
	target VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	choice VARCHAR NOT NULL, 
	attempt INTEGER NOT NULL, 
	not_before DATETIME, 
	not_after DATETIME, 
	permit_until DATETIME, 
	owner VARCHAR NOT NULL, 
	lease_until DATETIME, 
	probing BOOLEAN NOT NULL, 
	previous JSON NOT NULL, 
	report JSON, 
	started_at DATETIME, 
	ended_at DATETIME, withheld TEXT DEFAULT '' NOT NULL, environment VARCHAR DEFAULT '' NOT NULL, start_by DATETIME, due_at DATETIME, basis VARCHAR DEFAULT '' NOT NULL, progress VARCHAR DEFAULT '' NOT NULL, overran BOOLEAN DEFAULT false NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(plan_id) REFERENCES "plan" (id), 
	UNIQUE (plan_id, revision, "key")
);
INSERT INTO "step" VALUES(1,1,1,0,'tell',0,'4b189f27c9046aa5764e856825602f4a204dd8b3e305b642f14b42cee0c73099','command','run_command',1,'unsafe',3600.0,'command:announce','succeeded','',1,NULL,NULL,'2026-11-14 06:01:03.000000','',NULL,0,'{}','{"status": "succeeded", "summary": "announce ran on production in 0.0 s, exit code 0: it is out", "data": {"exit_code": 0, "seconds": 0.01, "output": "it is out", "log": "attempts/plan-1/tell/1/echo.log"}, "error": null, "recommendations": [], "artifacts": ["attempts/plan-1/tell/1/echo.log"]}','2026-11-14 06:00:03.000000','2026-11-14 06:00:03.000000','','production',NULL,NULL,'','',0);
INSERT INTO "step" VALUES(2,2,1,0,'tell',0,'4b189f27c9046aa5764e856825602f4a204dd8b3e305b642f14b42cee0c73099','command','run_command',1,'unsafe',3600.0,'command:announce','succeeded','',1,NULL,NULL,'2026-11-15 06:01:03.000000','',NULL,0,'{}','{"status": "succeeded", "summary": "announce ran on production in 0.0 s, exit code 0: it is out", "data": {"exit_code": 0, "seconds": 0.01, "output": "it is out", "log": "attempts/plan-2/tell/1/echo.log"}, "error": null, "recommendations": [], "artifacts": ["attempts/plan-2/tell/1/echo.log"]}','2026-11-15 06:00:03.000000','2026-11-15 06:00:03.000000','','production',NULL,NULL,'','',0);
INSERT INTO "step" VALUES(3,3,1,0,'look',0,'c51020b38cc836427c1d195b3bbede5d08eb2c53be50a4a805122eba4a149555','command','read_command',0,'safe',3600.0,'','succeeded','',1,NULL,NULL,'2026-11-15 22:51:03.000000','',NULL,0,'{}','{"status": "succeeded", "summary": "look ran in 0.0 s, exit code 0: there is room", "data": {"exit_code": 0, "seconds": 0.01, "output": "there is room", "log": "attempts/plan-3/look/1/echo.log"}, "error": null, "recommendations": [], "artifacts": ["attempts/plan-3/look/1/echo.log"]}','2026-11-15 22:50:03.000000','2026-11-15 22:50:03.000000','','',NULL,NULL,'','',0);
INSERT INTO "step" VALUES(4,3,1,1,'gate',0,'2012c6cdd72fef858b7658d7970a0df8af859bed561dfbd3610276507ef82fa1','approval-gate','confirm',0,'safe',60.0,'','failed','ask',1,NULL,NULL,'2026-11-15 22:51:03.000000','',NULL,0,'{}','{"status": "failed", "summary": "Go live?", "data": {"checkpoint": true}, "error": {"kind": "permanent", "message": "Go live?", "after": null}, "recommendations": [], "artifacts": []}','2026-11-15 22:50:03.000000','2026-11-15 22:50:03.000000','','',NULL,NULL,'','',0);
INSERT INTO "step" VALUES(5,3,1,2,'tell',0,'1d4b6c9c947c5854f87fe5ae09c0fed9de65a56512980b393e9d5cdafbb6281d','command','run_command',1,'unsafe',3600.0,'command:announce','pending','',0,NULL,NULL,'2026-11-15 22:51:03.000000','',NULL,0,'{}','null',NULL,NULL,'','production',NULL,NULL,'','',0);
INSERT INTO "step" VALUES(6,4,1,0,'look',0,'ae5cf5a0e25787ef8c599aba0685b9e9a5321ec61613e35e835c4922bed01575','command','read_command',0,'safe',3600.0,'','pending','',0,'2026-11-16 07:00:00.000000','2026-11-16 09:00:00.000000','2026-11-15 23:01:00.000000','',NULL,0,'{}','null',NULL,NULL,'','','2026-11-16 08:00:00.000000','2026-11-16 07:00:00.000000','','',0);
INSERT INTO "step" VALUES(7,4,1,1,'tell',0,'04ed0f24d1cc7b9bac7d6f919314172870efa24c26b2a937a5b9bfa9a21f8706','command','run_command',1,'unsafe',3600.0,'command:announce','pending','',0,'2026-11-16 07:00:00.000000','2026-11-16 09:00:00.000000','2026-11-15 23:01:00.000000','',NULL,0,'{}','null',NULL,NULL,'','production','2026-11-16 08:00:00.000000',NULL,'','',0);
CREATE TABLE stop (
	scope VARCHAR NOT NULL, 
	reason TEXT NOT NULL, 
	"by" VARCHAR NOT NULL, 
	since DATETIME NOT NULL, 
	PRIMARY KEY (scope)
);
CREATE TABLE system (
	id INTEGER NOT NULL, 
	head VARCHAR NOT NULL, 
	events INTEGER NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "system" VALUES(1,'30c5e1c75c87758ccbce6b4f386a1e6a8e60a81f1872a50ce49844ad5d44e917',2);
CREATE TABLE target (
	name VARCHAR NOT NULL, 
	step_id INTEGER NOT NULL, 
	plan_id INTEGER NOT NULL, 
	since DATETIME NOT NULL, 
	PRIMARY KEY (name), 
	FOREIGN KEY(step_id) REFERENCES step (id)
);
CREATE INDEX ix_delivery_handled_at ON delivery (handled_at);
CREATE INDEX ix_delivery_id ON delivery (id);
CREATE INDEX ix_message_plan_id ON message (plan_id);
CREATE INDEX ix_plan_state ON "plan" (state);
CREATE INDEX ix_approval_plan_id ON approval (plan_id);
CREATE INDEX ix_step_due ON step (state, not_before);
CREATE INDEX ix_target_step_id ON target (step_id);
CREATE INDEX ix_spending_at ON spending (at);
CREATE INDEX ix_message_stale ON message (id) WHERE wanted > shown;
CREATE INDEX ix_preview_state ON preview (state);
CREATE INDEX ix_override_plan_id ON override (plan_id);
CREATE INDEX ix_recurring_next_at ON recurring (next_at);
CREATE INDEX ix_occurrence_plan_id ON occurrence (plan_id);
CREATE INDEX ix_step_due_at ON step (due_at, id);
COMMIT;

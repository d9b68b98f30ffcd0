BEGIN TRANSACTION;
CREATE TABLE events (
    session TEXT NOT NULL, seq INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO "events" VALUES('7cXyRO_PFi450i5FREnGMe',1,'{"type":"settings","model":"de-en","source":"de","target":"en","k":2,"gamma":1.0,"beam":1,"ms":0.0,"window":0,"history":10,"punctuation":false}');
INSERT INTO "events" VALUES('7cXyRO_PFi450i5FREnGMe',2,'{"type":"source","word":"ka","index":0,"ms":779.7}');
INSERT INTO "events" VALUES('7cXyRO_PFi450i5FREnGMe',3,'{"type":"source","word":"mi.","index":1,"ms":779.8}');
INSERT INTO "events" VALUES('7cXyRO_PFi450i5FREnGMe',4,'{"type":"write","word":"ka","index":0,"read":2,"sentence":0,"reason":"catch-up","ms":780.4}');
INSERT INTO "events" VALUES('7cXyRO_PFi450i5FREnGMe',5,'{"type":"write","word":"mi","index":1,"read":2,"sentence":0,"reason":"catch-up","ms":780.4}');
INSERT INTO "events" VALUES('7cXyRO_PFi450i5FREnGMe',6,'{"type":"sentence","sentence":0,"source_words":2,"target_words":2,"reason":"punctuation","ms":780.4}');
INSERT INTO "events" VALUES('7cXyRO_PFi450i5FREnGMe',7,'{"type":"end","source_words":2,"target_words":2,"ms":780.5}');
INSERT INTO "events" VALUES('ZyQksXI4K9Bp8paPfMuoQx',1,'{"type":"settings","model":"de-en","source":"de","target":"en","k":3,"gamma":1.0,"beam":1,"ms":0.0,"window":0,"history":10,"punctuation":false}');
INSERT INTO "events" VALUES('ZyQksXI4K9Bp8paPfMuoQx',2,'{"type":"source","word":"ka","index":0,"ms":302.2,"at":100.0}');
INSERT INTO "events" VALUES('ZyQksXI4K9Bp8paPfMuoQx',3,'{"type":"source","word":"le.","index":1,"ms":302.4,"at":200.0}');
INSERT INTO "events" VALUES('ZyQksXI4K9Bp8paPfMuoQx',4,'{"type":"write","word":"ka","index":0,"read":2,"sentence":0,"reason":"catch-up","ms":327.3,"at":200.0}');
INSERT INTO "events" VALUES('ZyQksXI4K9Bp8paPfMuoQx',5,'{"type":"write","word":"le","index":1,"read":2,"sentence":0,"reason":"catch-up","ms":327.3,"at":200.0}');
INSERT INTO "events" VALUES('ZyQksXI4K9Bp8paPfMuoQx',6,'{"type":"sentence","sentence":0,"source_words":2,"target_words":2,"reason":"punctuation","ms":327.3}');
INSERT INTO "events" VALUES('ZyQksXI4K9Bp8paPfMuoQx',7,'{"type":"source","word":"mi","index":2,"ms":331.1,"at":300.0}');
INSERT INTO "events" VALUES('ZyQksXI4K9Bp8paPfMuoQx',8,'{"type":"source","word":"ka","index":3,"ms":367.1,"at":400.0}');
INSERT INTO "events" VALUES('ZyQksXI4K9Bp8paPfMuoQx',9,'{"type":"settings","model":"de-en","source":"de","target":"en","k":2,"gamma":1.0,"beam":1,"ms":399.8,"window":0,"history":10,"punctuation":false}');
INSERT INTO "events" VALUES('ZyQksXI4K9Bp8paPfMuoQx',10,'{"type":"source","word":"mi","index":4,"ms":399.9}');
INSERT INTO "events" VALUES('ZyQksXI4K9Bp8paPfMuoQx',11,'{"type":"write","word":"mi","index":2,"read":5,"sentence":1,"reason":"policy","ms":400.6}');
INSERT INTO "events" VALUES('ZyQksXI4K9Bp8paPfMuoQx',12,'{"type":"source","word":"le","index":5,"ms":400.6}');
INSERT INTO "events" VALUES('ZyQksXI4K9Bp8paPfMuoQx',13,'{"type":"write","word":"ka","index":3,"read":6,"sentence":1,"reason":"policy","ms":400.8}');
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, secret_hash TEXT NOT NULL, began REAL NOT NULL, touched REAL NOT NULL,
    inputs INTEGER NOT NULL, events INTEGER NOT NULL, ended INTEGER NOT NULL, state TEXT NOT NULL,
    token INTEGER NOT NULL DEFAULT 1, turn INTEGER NOT NULL DEFAULT 1
) STRICT, WITHOUT ROWID;
INSERT INTO "sessions" VALUES('7cXyRO_PFi450i5FREnGMe','local','fe6d0041c553555a934c28954cbc067d6657c3ab24ec2a11f51cc905a821b5c3',1.79492970637324166299e+09,1.79492970715378713604e+09,3,7,1,'{"version":1,"k":2,"punctuation":false,"ms":780.5,"before":{"read":0,"written":0,"sentences":0},"stream":{"version":1,"model":"de-en","pieces":"605ba741f4faca08","settings":{"k":2,"gamma":1.0,"history":10,"rounding":"floor","encoding":"incremental","recompute":false,"beam":1,"lookahead":3},"pending_settings":null,"counts":{"read":2,"written":2,"sentence":1,"replaced":0},"ended":true,"history":{"pairs":[[{"ids":[299,291],"pieces":[1,1]},{"ids":[299,291],"pieces":[1,1]}]],"from_start":true},"words":[],"muted":false,"source":{"ids":[],"pieces":[]},"target":{"ids":[],"pieces":[]},"row_limits":[],"segmenter":{"kind":"punctuation","window":0,"max_words":60,"pending":[],"open_words":0,"cased":false}}}',1,2);
INSERT INTO "sessions" VALUES('ZyQksXI4K9Bp8paPfMuoQx','local','20c9d90ccb6b8935a14b344f646e6df51cc79039a46784163592d8126208913f',1.79492970557717680928e+09,1.79492970597799134254e+09,7,13,0,'{"version":1,"k":2,"punctuation":false,"ms":400.8,"before":{"read":0,"written":0,"sentences":0},"stream":{"version":1,"model":"de-en","pieces":"605ba741f4faca08","settings":{"k":3,"gamma":1.0,"history":10,"rounding":"floor","encoding":"incremental","recompute":false,"beam":1,"lookahead":3},"pending_settings":{"k":2,"gamma":1.0,"history":10,"rounding":"floor","encoding":"incremental","recompute":false,"beam":1,"lookahead":3},"counts":{"read":6,"written":4,"sentence":1,"replaced":0},"ended":false,"history":{"pairs":[[{"ids":[299,295],"pieces":[1,1]},{"ids":[299,295],"pieces":[1,1]}]],"from_start":true},"words":["mi","ka"],"muted":false,"source":{"ids":[291,299,291,295],"pieces":[1,1,1,1]},"target":{"ids":[291,299],"pieces":[1,1]},"row_limits":[7,8],"segmenter":{"kind":"punctuation","window":0,"max_words":60,"pending":[],"open_words":4,"cased":false}}}',1,2);
COMMIT;
PRAGMA user_version = 3;

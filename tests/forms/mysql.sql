round(n), round(x), round(x,2), round(2.5), round(-2.5), round(0.285,2), round(n,-1), round(1234.567,-2)
n / 2, n / 0, n div 2, n div 0, n % 3, n % 0, n mod 3, x / 2, 7 / 2, 7 div 2, -7 div 2, -7 % 3, x div 1, 5.5 % 2
n + 1, n - x, n * 2, -n, n + '3', '2' * 3, n / 2 * 2
n & 3, n | 4, n ^ 1, 1 << 2, 8 >> 1
ascii(name), ascii('é'), ascii('')
bin(12), bit_count(7), bit_length('é'), hex(255)
concat(name,'-',n), concat(name,null), concat(day,''), concat_ws('-',name,null,n), concat(x,'')
elt(2,'a','b','c'), elt(5,'a'), field('b','a','b'), field(name,'ann','bob'), field(n,7,10), find_in_set('b','a,b,c'), find_in_set('x','a,b'), find_in_set('B','a,b,c')
format(1234567.891,2), format(n,0), format(0.5,0), format(1234.5,1)
insert('Quadratic',3,4,'What'), insert('abc',0,1,'x'), insert('abc',2,100,'x'), insert('abc',5,1,'x')
instr(name,'N'), instr('foobarbar','bar'), locate('bar','foobarbar'), locate('bar','foobarbar',5), locate('x','abc'), position('bar' in 'foobar'), locate('a','abc',0)
lower(name), lcase(name), upper(name), ucase(name), left(name,2), right(name,2), left(name,-1), right(name,0), reverse(name), repeat('ab',3), repeat('a',-1), space(3), replace(name,'n','m'), replace('abc','','x')
lpad('hi',4,'?'), lpad('hi',1,'?'), rpad('hi',4,'?'), lpad('hi',-1,'?'), lpad('hi',5,''), rpad('hi',7,'ab')
ltrim('  a '), rtrim(' a  '), trim('  a  '), trim(leading 'x' from 'xxax'), trim(both 'x' from 'xxax'), trim(trailing 'x' from 'axx')
mid(name,2,2), substr(name,2), substr(name,-2), substr(name,-2,1), substr(name,0), substr(name,0,2), substr('abc',5), substr('abc',-5), substring(name from 2), substring(name from 2 for 2), substring(name,1,2), substr('abc',2,-1)
strcmp('a','b'), strcmp('b','a'), strcmp('a','A'), substring_index('www.mysql.com','.',2), substring_index('www.mysql.com','.',-2), substring_index('abc','.',1), substring_index('a.b','.',5), substring_index('a.b.c','.',-5), substring_index('a.b','.',0)
if(n>5,'a','b'), if(null,1,2), ifnull(n,0), nullif(n,7), coalesce(null,n), isnull(n), nvl(n,1), nvl2(n,1,2), if(n,1,0)
case when n > 5 then 'hi' else 'lo' end, case n when 7 then 'seven' end
greatest(n,2), least(n,2), greatest(n,null), greatest('a','b'), least(x,n)
n > 5, n = 7, n is null, n <=> 7, n <=> null, not n, n and 1, n or 0, n xor 1, n between 1 and 8, n in (7,10), n <> 7, true, false, n > 5 = 1, (n>5) + 1, !(n > 5), n = '7'
name = 'ANN', name = 'ann', name like 'A%', name like 'é%', name in ('ANN','BOB'), name <> 'ANN', name < 'b', name = 'eva', note like 'a\\%b%', note like '%b\\_c', name between 'A' and 'B'
name collate utf8mb4_bin = 'ann', binary name = 'ann'
cast(n as char), cast('12abc' as signed), cast('3.7' as signed), cast(x as signed), cast(2.5 as signed), cast(note as signed), cast('abc' as unsigned), cast('12.345' as decimal(10,2)), cast(x as decimal(10,1)), cast('12.6' as decimal), cast('2020-01-31' as date), cast(ts as date), cast('2020-01-31 10:20:30' as datetime), convert('12',signed), cast(day as char), cast(day as datetime), convert(name using utf8)
curdate() > day, date(ts), date('2020-01-31 10:20:30'), date('garbage'), day(day), dayofmonth(day), dayname(day), monthname(day), dayofweek(day), weekday(day), dayofyear(day), month(day), year(day), quarter(day), hour(ts), minute(ts), second(ts), microsecond(ts), last_day(day), last_day('2020-02-03')
week(day), week(day,0), week(day,1), week(day,2), week(day,3), week(day,4), week(day,5), week(day,7), weekofyear(day), yearweek(day), yearweek(day,1)
week('2023-01-01',1), week('2021-01-03',4), week('2000-01-01',2), week('2008-12-31',1), yearweek('2000-01-01'), yearweek('1987-01-01'), week('2019-12-31',3), week('2024-12-30',1), week('2005-01-02'), week('2005-01-02',5)
date_add(day, interval 1 month), date_add(day, interval -1 month), date_sub(day, interval 1 year), date_add(ts, interval 1 hour), day + interval 1 day, day - interval 1 week, interval 1 day + day, date_add('2020-01-31', interval 1 month), date_add('2020-01-31 10:20:30', interval 1 day), date_add(day, interval 2 hour), adddate(day, 3), subdate(day, 3), date_add(day, interval n day), adddate(day, interval 1 quarter), '2020-01-31' + interval 1 month, date_add('2020-01-31', interval 90 minute), date_add(ts, interval 1 month)
timestampadd(month,1,day), timestampadd(hour,1,ts), timestampadd(week,1,'2020-01-01')
timestampdiff(month,day,'2021-03-01'), timestampdiff(year,day,'2021-03-01'), timestampdiff(day,ts,'2021-03-01'), timestampdiff(hour,'2020-03-01 10:20:30','2020-03-01 12:00:00'), timestampdiff(minute,ts,day), timestampdiff(second,day,ts), timestampdiff(month,'2020-01-31','2020-02-29'), timestampdiff(month,'2020-02-29','2020-01-31'), timestampdiff(year,'2020-02-29','2021-02-28'), timestampdiff(quarter,'2020-01-01','2020-12-31'), timestampdiff(week,'2020-01-01','2020-02-01'), timestampdiff(month,'2020-01-15 10:00:00','2020-02-15 09:00:00'), timestampdiff(day,'2020-02-02 12:00:00','2020-02-01 13:00:00')
date_format(day,'%Y-%m-%d'), date_format(ts,'%H:%i:%s'), date_format(ts,'%W %M %e %Y'), date_format(day,'%a %b %c %D'), date_format(day,'%U %u %V %v %X %x'), date_format(ts,'%h %I %k %l %p %r %T'), date_format(day,'%j %w %y'), date_format(ts,'%f'), date_format(day,'%%x%q'), date_format(day,'it''s %d')
date_format('2000-01-01','%U %u %V %v %X %x'), date_format('2023-01-01','%U %u %V %v %X %x'), date_format('2021-01-01','%D %u'), date_format('2020-01-13','%D'), date_format('2020-01-22','%D'), date_format(ts,'%Y-%m')
str_to_date('01,5,2013','%d,%m,%Y'), str_to_date('2020-01-31 10:20','%Y-%m-%d %H:%i'), str_to_date('May 1, 2013','%M %d,%Y'), str_to_date('abc','%Y'), str_to_date('12/31/99','%m/%d/%y')
extract(year from day), extract(month from day), extract(quarter from day), extract(week from day), extract(day from ts), extract(hour from ts), extract(minute from ts), extract(second from ts), extract(year_month from day)
hour('10:20:30'), minute('10:20:30'), hour(t), second(t)
select id % 2 k, count(*), sum(n) from v group by k order by k
select id, sum(n) over (partition by id % 2 order by id), lag(n) over (order by id), rank() over (order by n desc) from v order by id
select id, n from v order by n, id
select id, n from v order by n desc, id
select count(distinct name) from v
select name, count(*) from v group by name order by name
select id from v where day > '2020-02-01' and ts < '2021-01-01' order by id
select id from v where year(day) = 2020 order by id limit 1, 2
select a.id, b.id from v a join v b on a.name = b.name and a.id < b.id
select id from v where name in (select upper(name) from v) order by id
select max(name), min(name) from v
select "abc", 'it''s', 'a\\nb', "x" = 'X'
select if(1 > 2, 'a', if(2 > 1, 'b', 'c')), ifnull(null, 'x'), 1 <> 2, 1 != 2, 5 between 1 and 10
select json_extract('{"a": 1}', '$.a'), json_unquote(json_extract('{"a": "x"}', '$.a')), json_length('[1,2]'), json_valid('{')
select name n2 from v where id = 1 group by n2
select year(day) y, month(day) m, count(*) c from v group by year(day), month(day) having c > 0 order by y, m
select date_format(day, '%Y-%m') ym, sum(n) from v group by ym order by ym
select * from v where name like '%\\_%'
select truncate(1.999,1), truncate(-1.999,1), truncate(122,-2), truncate(10.28*100,0), round(150.000,2), ceil(-1.5), floor(-1.5), mod(-29,9), mod(34.5,3)
select current_date() = curdate(), now() > '2000-01-01', dayofweek(now()) between 1 and 7
abs(n)
abs(x)
sign(n)
ceil(x)
ceiling(x)
floor(x)
round(x,1)
truncate(x,1)
truncate(n,-1)
mod(n,3)
mod(n,0)
pow(n,2)
sqrt(n)
exp(1)
ln(n)
log(n)
log(2,8)
log2(n)
log10(n)
degrees(1)
radians(180)
sin(1)
cos(1)
tan(1)
cot(1)
acos(0.5)
asin(0.5)
atan(1)
atan2(1,2)
atan(1,2)
bin(n)
bit_count(n)
bit_length(name)
char_length(name)
character_length(name)
length(name)
octet_length(name)
length('é')
hex(n)
hex(name)
hex('abc')
md5('a')
sha1('a')
sha('a')
sha2('a',256)
to_base64('abc')
from_base64('YWJj')
name regexp '^a'
name rlike 'N$'
name not regexp 'n'
regexp_replace(name,'[aeiou]','*')
datediff(day,'2020-01-01')
datediff(ts,day)
datediff('2020-03-01','2020-02-01')
to_days(day)
to_days('2020-01-01')
from_days(737790)
to_seconds(ts)
unix_timestamp(ts)
unix_timestamp('2020-01-01')
from_unixtime(1577836800)
period_add(202001,2)
period_diff(202003,201912)
makedate(2020,60)
makedate(2020,0)
time_to_sec('01:00:01')
time_to_sec(ts)
from_unixtime(0)
year('2020-05-06')
month('garbage')
day('2020-02-30')
